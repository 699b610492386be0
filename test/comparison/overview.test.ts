import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { table } from '../../src/comparison/markdown-table.ts';
import { primaryCells, primaryVerdictText } from '../../src/comparison/primary-markdown.ts';
import { scoreAt } from '../../src/comparison/learning-curve.ts';
import {
  differencesBySeed,
  differenceText,
  estimateDifferenceOverSeeds,
  valueText,
} from '../../src/comparison/seed-estimates.ts';
import { RULES } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { range } from '../../src/numerics/arithmetic.ts';

/**
 * The tables of docs/results.md are made of the summaries beside it, so that no figure in them was written by
 * hand. `npx vitest run test/comparison/overview.test.ts -u` writes them anew.
 */

const docs = join(repository, 'docs');
const summaries = readdirSync(docs)
  .filter((name) => /^results-.*\.json$/.test(name))
  .sort()
  .map((file) => ({ file, summary: JSON.parse(readFileSync(join(docs, file), 'utf8')) as Summary }))
  .filter(({ summary: { rules } }) => (rules as number) >= RULES);

/** Every comparison that was named before its runs. */
function primaryTable(): string {
  const rows = summaries.flatMap(({ file, summary }) =>
    summary.primary.map((result) => {
      const [comparison, figure, difference, bySeed, p, narrow, margin] = primaryCells(result);
      const document = file.replace('.json', '.md');
      return [
        `[${summary.name}](${document})`,
        comparison!,
        figure!,
        difference!,
        bySeed!,
        p!,
        narrow!,
        margin!,
        `**${primaryVerdictText(result)}**`,
      ];
    }),
  );
  return table(
    ['file', 'arms', 'figure', 'difference', 'by seed', 'p, exact', '90 % interval', 'margin', 'verdict'],
    rows,
  );
}

/** Area under the held-out curve by the arm's tasks and the agent's step. */
function stepsTable(): string {
  const steps = ['all', 'keep', 'drop', 'refill', 'std'];
  const rows = summaries
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

const PLACES = 6;

/** Held-out success at equal rollouts, an arm minus the frozen simulator with the same agent. */
function leadTable(): string {
  const rows = summaries
    .filter(({ summary: { arms } }) => armWith(arms, 'uniform') !== undefined)
    .flatMap(({ file, summary }) => {
      const scores = (name: string, rollouts: number) =>
        armWith(summary.arms, name)!.runs.map(({ curve }) => scoreAt(curve, rollouts));
      return ['tuned', 'uniform'].map((name) => [
        pageLink(file, summary),
        `${name} − random`,
        ...range(PLACES).map((place) => {
          const rollouts = ((place + 1) / PLACES) * summary.rollouts;
          const differences = differencesBySeed(scores(name, rollouts), scores('random', rollouts));
          return `${Math.round(rollouts)}: ${differenceText(estimateDifferenceOverSeeds(differences))}`;
        }),
      ]);
    });
  return table(['file', 'arms', ...range(PLACES).map((place) => `${place + 1} of ${PLACES}`)], rows);
}

/** Areas if something else than rollouts is held equal. */
function axesTable(): string {
  const rows = summaries
    .filter(({ summary: { arms } }) => armWith(arms, 'uniform') !== undefined)
    .flatMap(({ file, summary }) =>
      ['random', 'tuned', 'uniform', 'oracle', 'selection'].map((name) => {
        const { arm, figures } = armWith(summary.arms, name)!;
        const along = (axis: string) =>
          summary.axes
            .find((candidate) => candidate.name === axis)
            ?.arms.find((candidate) => candidate.arm === arm)?.area?.mean;
        const areas = [figures.area?.mean, along('agentSteps'), along('tokens')];
        return [pageLink(file, summary), name, ...areas.map((area) => valueText(area))];
      }),
    );
  return table(['file', 'arm', 'by rollouts', 'by updates of the agent', 'by tokens sampled'], rows);
}

/** An arm by its tasks; in files of the agent's step the one with the step `all`. */
const armWith = (arms: Summary['arms'], tasks: string) =>
  arms.find(({ arm }) => arm === tasks) ?? arms.find(({ arm }) => arm === `${tasks}-all`);

const pageLink = (file: string, { name }: Summary): string => `[${name}](${file.replace('.json', '.md')})`;

const between = (name: string) => new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);

test('every table of the results is what the summaries say', async () => {
  const text = readFileSync(join(docs, 'results.md'), 'utf8');
  const tables = {
    'primary comparisons': primaryTable(),
    leads: leadTable(),
    axes: axesTable(),
    steps: stepsTable(),
  };
  let expected = text;
  for (const [name, content] of Object.entries(tables)) {
    expect(text, `docs/results.md: the markers of "${name}"`).toMatch(between(name));
    expected = expected.replace(
      between(name),
      (_, begin: string, end: string) => `${begin}\n${content}\n\n${end}`,
    );
  }
  await expect(expected).toMatchFileSnapshot('../../docs/results.md');
});
