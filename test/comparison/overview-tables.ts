/** The tables of docs/results.md, made of the summaries and of the published runs beside it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';
import { compareAlong } from '../../src/comparison/axes.ts';
import { areaUnderCurve, scoreAt } from '../../src/comparison/learning-curve.ts';
import type { CurvePoint } from '../../src/comparison/learning-curve.ts';
import { table } from '../../src/comparison/markdown-table.ts';
import type { PortableRun } from '../../src/comparison/portable-run.ts';
import { primaryCells, primaryVerdictText } from '../../src/comparison/primary-markdown.ts';
import { parseRunsFile } from '../../src/comparison/runs-file.ts';
import {
  differencesBySeed,
  differenceText,
  estimateOverSeeds,
  estimateText,
  intervalText,
  rangeText,
  valueText,
} from '../../src/comparison/seed-estimates.ts';
import { RULES } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { mean, range } from '../../src/numerics/arithmetic.ts';
import { signFlipTest } from '../../src/numerics/sign-flip.ts';
import { studentInterval } from '../../src/numerics/student.ts';
import { measuredValues } from '../../src/report/run-data.ts';

export const docs = join(repository, 'docs');
const read = (file: string): string => readFileSync(join(docs, file), 'utf8');

interface Page {
  /** `results-main.json` */
  file: string;
  summary: Summary;
}

const pages: Page[] = readdirSync(docs)
  .filter((name) => /^results-.*\.json$/.test(name))
  .sort()
  .map((file) => ({ file, summary: JSON.parse(read(file)) as Summary }))
  .filter(({ summary: { rules } }) => (rules as number) >= RULES);

const MAIN = 'results-main.json';
const mainPage = pages.find(({ file }) => file === MAIN)!;
/** Those that say what a curriculum is worth: with `uniform`, beside the frozen simulator. */
const curriculumPages = pages.filter(({ summary: { arms } }) => armWith(arms, 'uniform') !== undefined);

/** An arm by its tasks; in files of the agent's step the one with the step `all`. */
function armWith(arms: Summary['arms'], tasks: string): Summary['arms'][number] | undefined {
  return arms.find(({ arm }) => arm === tasks) ?? arms.find(({ arm }) => arm === `${tasks}-all`);
}

/** Those of some arms that a file has. */
const namesIn = (arms: Summary['arms'], names: readonly string[]): string[] =>
  names.filter((name) => armWith(arms, name) !== undefined);

const pageLink = ({ file, summary: { name } }: Page): string => `[${name}](${file.replace('.json', '.md')})`;

/** Mean of the differences by seed with Student's 95 % interval. */
const signedText = (differences: readonly (number | null)[]): string => {
  const text = estimateText(estimateOverSeeds(differences));
  return /^[−–]/.test(text) ? text : `+${text}`;
};

/** Every comparison that was named before its runs. */
export function primaryTable(): string {
  const rows = pages.flatMap((page) =>
    page.summary.primary.map((result) => {
      const [comparison, figure, difference, bySeed, p, narrow, margin] = primaryCells(result);
      const figures = [comparison!, figure!, difference!, bySeed!, p!, narrow!, margin!];
      return [pageLink(page), ...figures, `**${primaryVerdictText(result)}**`];
    }),
  );
  return table(
    ['file', 'arms', 'figure', 'difference', 'by seed', 'p, exact', '90 % interval', 'margin', 'verdict'],
    rows,
  );
}

/** The area of `tuned` minus that of `random`, had the comparison ended elsewhere. */
export function horizonTable(): string {
  const { summary } = mainPage;
  const { margin } = summary.primary[0]!;
  const areas = (name: string, rollouts: number) =>
    armWith(summary.arms, name)!.runs.map(({ curve }) => areaUnderCurve(curve, rollouts));
  const ends = [3200, 6400, 7216, 8533, 10667, summary.rollouts, 13152, 13632];
  const rows = ends.map((rollouts) => {
    const differences = measuredValues(
      differencesBySeed(areas('tuned', rollouts), areas('random', rollouts)),
    );
    const { low, high } = studentInterval(differences, 0.9)!;
    const cells = [
      String(rollouts),
      signedText(differences),
      `${differences.filter((difference) => difference > 0).length} of ${differences.length}`,
      valueText(signFlipTest(differences)),
      intervalText({ low: low!, high: high! }, 'share'),
      low! > -margin && high! < margin ? 'yes' : 'no',
    ];
    return rollouts === summary.rollouts ? cells.map((cell) => `**${cell}**`) : cells;
  });
  return table(
    [
      'area up to',
      'tuned − random',
      'seeds above 0',
      'p, exact',
      '90 % interval',
      `inside ±${margin.toFixed(3)}`,
    ],
    rows,
  );
}

const SIXTHS = 6;

/** Held-out success at equal rollouts, an arm minus the frozen simulator with the same agent. */
export function leadTable(): string {
  const rows = curriculumPages.flatMap((page) => {
    const { arms, rollouts } = page.summary;
    const scores = (name: string, at: number) =>
      armWith(arms, name)!.runs.map(({ curve }) => scoreAt(curve, at));
    return namesIn(arms, ['tuned', 'genenv', 'uniform', 'oracle']).map((name) => [
      pageLink(page),
      `${name} − random`,
      ...range(SIXTHS).map((place) => {
        const at = ((place + 1) / SIXTHS) * rollouts;
        return `${Math.round(at)}: ${signedText(differencesBySeed(scores(name, at), scores('random', at)))}`;
      }),
    ]);
  });
  return table(['file', 'arms', ...range(SIXTHS).map((place) => `${place + 1} of ${SIXTHS}`)], rows);
}

/** Primary comparisons of area, and the controls minus `random`, if something else than rollouts is held equal. */
export function axesTable(): string {
  const rows = pages.flatMap((page) => {
    const { arms, axes, primary } = page.summary;
    const nameOf = (tasks: string) => armWith(arms, tasks)!.arm;
    const controls = curriculumPages.includes(page)
      ? namesIn(arms, ['tuned', 'uniform', 'oracle', 'selection']).map((arm) => [arm, 'random'] as const)
      : [];
    const named = primary
      .filter(({ measure }) => measure === 'area')
      .map(({ arm, against }) => [arm, against] as const);
    const pairs = new Map(
      [...named, ...controls].map(([arm, against]) => {
        const pair = [nameOf(arm), nameOf(against)] as const;
        return [pair.join(' − '), pair];
      }),
    );
    const along = (arm: string, axis: string) =>
      axes.find(({ name }) => name === axis)!.arms.find((candidate) => candidate.arm === arm)!.runs;
    const areas = (arm: string) => armWith(arms, arm)!.runs.map(({ figures }) => figures.area);
    return [...pairs].map(([title, [arm, against]]) => [
      pageLink(page),
      title,
      signedText(differencesBySeed(areas(arm), areas(against))),
      ...['agentSteps', 'tokens'].map((axis) =>
        differenceText(compareAlong(along(arm, axis), along(against, axis)).difference),
      ),
      ...[arm, against].map((name) =>
        rangeText(
          armWith(arms, name)!.runs.map(({ figures }) => figures.agentSteps),
          'count',
        ),
      ),
    ]);
  });
  return table(
    [
      'file',
      'arms',
      'by rollouts',
      'by updates of the agent',
      'by tokens sampled',
      'updates of the first arm within the rollouts compared',
      'updates of the second arm within them',
    ],
    rows,
  );
}

/** Where on the held-out grid `tuned` leads and lags. */
export function lengthTable(): string {
  const runs = parseRunsFile('main', read(MAIN.replace('.json', '.runs.jsonl')));
  const places = [2, 4, 6].map((place) => (place / SIXTHS) * mainPage.summary.rollouts);
  const rows = [1, 5, 9, 13].map((first) => {
    const curves = (arm: string) =>
      runs.filter((run) => run.arm === arm).map((run) => lengthCurve(run, first, first + 3));
    return [
      `${first} to ${first + 3}`,
      ...places.map((at) => {
        const scores = (arm: string) => curves(arm).map((curve) => scoreAt(curve, at));
        return signedText(differencesBySeed(scores('tuned'), scores('random')));
      }),
    ];
  });
  return table(['held-out length', ...places.map((at) => `at ${Math.round(at)}`)], rows);
}

/** Held-out success on tasks of some lengths by rollouts. */
function lengthCurve(run: PortableRun, first: number, last: number): CurvePoint[] {
  const metrics = run.metrics as Record<string, (number | null)[]>;
  let rollouts = 0;
  return metrics['rollouts/count']!.flatMap((count, epoch) => {
    rollouts += count ?? 0;
    const cells = range(last - first + 1).map(
      (step) => metrics[`eval/heldout_probability_difficulty/${first + step}`]![epoch] ?? null,
    );
    const score = mean(measuredValues(cells));
    return score === null ? [] : [{ rollouts, score }];
  });
}

/** Area under the held-out curve by the arm's tasks and the agent's step. */
export function stepsTable(): string {
  const steps = ['all', 'keep', 'drop', 'refill', 'std'];
  const rows = pages
    .filter(({ summary }) => summary.name.startsWith('compare-steps-'))
    .flatMap(({ file, summary }) => {
      const areaOf = (arm: string) =>
        summary.arms.find((summarized) => summarized.arm === arm)?.figures.area?.mean;
      return ['random', 'tuned', 'oracle', 'selection']
        .filter((tasks) => areaOf(`${tasks}-all`) !== undefined)
        .map((tasks) => [
          `[${summary.name.replace('compare-steps-p', '.')}](${file.replace('.json', '.md')})`,
          tasks,
          ...steps.map((step) => valueText(areaOf(`${tasks}-${step}`))),
        ]);
    });
  return table(['p0', 'tasks', ...steps], rows);
}

/** The verdicts on the method's claims, by the rules that were written beforehand. */
export function claimTable(): string {
  const judged = pages.flatMap((page) => page.summary.claims.map(({ arm, rows }) => ({ page, arm, rows })));
  const claims = [...new Set(judged.flatMap(({ rows }) => rows.map(({ claim }) => claim)))];
  return table(
    ['claim', ...judged.map(({ page, arm }) => `${pageLink(page)}, ${arm}`)],
    claims.map((claim) => [
      claim,
      ...judged.map(({ rows }) => rows.find((row) => row.claim === claim)?.verdict ?? '–'),
    ]),
  );
}
