import { comparedMeasures } from '../config/primary-comparisons.ts';
import type { ArmSummary } from './arm-summary.ts';
import { axesParts } from './axes-markdown.ts';
import { benchmarkParts } from './benchmarks-markdown.ts';
import { conditionParts } from './conditions-markdown.ts';
import { curriculumParts, thinToNine } from './curriculum-markdown.ts';
import { table } from './markdown-table.ts';
import { metricCell, seedCountText } from './metric-cell.ts';
import { measuresParts } from './measures-markdown.ts';
import { paperRows } from './paper-figures.ts';
import { primaryParts } from './primary-markdown.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { differenceText, estimateText, rangeText } from './seed-estimates.ts';
import { isPrimary } from './secondary-tests.ts';
import type { ComparedArms } from './secondary-tests.ts';
import { teachingParts } from './teaching-markdown.ts';
import type { Against, Summary } from './summary.ts';

const budgetMetrics = ['rollouts', 'agentSteps', 'environmentSteps'] as const satisfies RunMetricName[];
const mainMetrics = comparedMeasures satisfies readonly RunMetricName[];

/** The comparison’s tables: `results.md` of its folder, and a page of docs/. Equal summaries give equal text. */
export function resultsMarkdown(summary: Summary): string {
  const { name, primary, arms, against, seeds, epochs, rolloutsPerEpoch, rollouts, notes, claims } = summary;
  return [
    `# Results: ${name}`,
    `Made by \`genenv compare\`, from the runs' ledgers and what was measured on their policies. ` +
      `${arms.length} arms, ${seedsText(seeds)}, ${epochs} epochs of ${rolloutsPerEpoch} rollouts of ` +
      'the agent each. Every arm is given the same rollouts, updates of the agent, warm policies (by ' +
      'seed) and held-out tasks. What is no task is not attempted, and an epoch without signal updates ' +
      'nothing, so arms make different use of that: curves go by the rollouts that were made, and are ' +
      `compared up to ${rollouts}, which every run made. Brackets are Student’s 95 % intervals of the mean ` +
      'over seeds; seeds that are all alike have none, since they show no spread.',
    ...notes.map((note) => `> ${note}`),
    ...primaryParts(primary, seeds.length),
    ...(claims.length === 0
      ? []
      : [
          '## Claims',
          'Of the method, by the rules of docs/comparison.md. Undecided is what the interval leaves open, ' +
            'direction only what has the sign and no more; not measured is what this comparison cannot ' +
            'tell: it lacks an arm, a probe, seeds, or what would put it to the test. These verdicts are not ' +
            'corrected for their number.',
        ]),
    ...claims.flatMap(({ arm, rows }) => [
      `### Judged by the arm ${arm}`,
      table(
        ['claim', 'the paper', 'here', 'verdict'],
        rows.map(({ claim, paper, ours, verdict }) => [claim, paper, ours, `**${verdict}**`]),
      ),
    ]),
    '## Arms',
    table(
      ['arm', ...mainTitles(summary)],
      arms.map((arm) => [arm.arm, ...mainMetrics.map((metric) => metricCell(arm, metric))]),
    ),
    'Rollouts to the threshold count a seed that does not come to it as the rollouts that are compared, so the ' +
      'mean is then at least so much.',
    'What they made of what they were given, fewest to most over the seeds:',
    table(
      ['arm', ...budgetMetrics.map((metric) => runMetrics[metric].title)],
      arms.map((arm) => [arm.arm, ...budgetMetrics.map((metric) => rangeCell(arm, metric))]),
    ),
    ...against.flatMap((comparison) => againstParts(comparison, summary)),
    ...controlParts(summary),
    ...axesParts(summary),
    '## Learning curves',
    'Held-out success after so many rollouts, linear between evaluations.',
    curveTable(arms),
    ...curriculumParts(arms),
    ...conditionParts(arms),
    '## Guards',
    'What a band of success can hide: guards that warn at the end of a run, and under how many seeds.',
    ...arms.map((arm) => `- **${arm.arm}**: ${warningsText(arm)}`),
    ...teachingParts(arms),
    ...benchmarkParts(summary.benchmarks, summary.baseline),
    ...measuresParts(summary),
    '## Beside the paper',
    'Other models, other tasks, and one run without intervals there: directions can be compared, sizes can not.',
    paperTable(summary),
    '## Runs',
    runsTable(summary),
    '',
  ]
    .join('\n\n')
    .replace(/\n\n(?=- \*\*)/g, joinListItems)
    .replace(/\n+$/, '\n');
}

/** One newline, not two, between two items of a list. */
function joinListItems(gap: string, offset: number, text: string): string {
  const lineBefore = text.slice(0, offset).split('\n').at(-1)!;
  return lineBefore.startsWith('- ') ? '\n' : gap;
}

const seedsText = (seeds: readonly number[]): string =>
  seeds.length === 1 ? `seed ${seeds[0]}` : `seeds ${seeds.join(', ')}`;

function warningsText({ warnings, runs }: ArmSummary): string {
  if (warnings.length === 0) return 'none';
  return warnings
    .map(({ guard, threshold, seeds }) => `${guard} (wanted ${threshold}) under ${seeds} of ${runs.length}`)
    .join('; ');
}

function againstParts({ reference, rows }: Against, summary: Summary): string[] {
  if (rows.length === 0) return [];
  return [
    `## Against ${reference}`,
    `Differences under the same seed, arm minus ${reference}. ${familyText(summary.tests)} Of rollouts to the threshold ` +
      'fewer are better.',
    table(
      ['arm', ...mainTitles(summary)],
      rows.map((row) => [row.arm, ...differenceCells(row, summary)]),
    ),
  ];
}

/** How the tests of all tables are corrected. @param tests 0 if there is one seed */
export const familyText = (tests: number): string =>
  (tests === 0
    ? 'One seed tests nothing. '
    : `p is Student’s, after Holm’s correction for the ${tests} tests of all these tables; bold where it is below 0.05. `) +
  'Primary comparisons stand above. A dash among rollouts to the threshold: a seed did not come to it, so that the ' +
  'difference is not known' +
  (tests === 0 ? '. ' : '; it counts as a test with p = 1, but for a primary comparison. ') +
  'Any other dash: not measured.';

const mainTitles = ({ threshold }: Summary): string[] =>
  mainMetrics.map((metric) =>
    metric === 'rolloutsToThreshold' ? `rollouts to held-out ${threshold}` : runMetrics[metric].title,
  );

function rangeCell({ runs }: ArmSummary, metric: RunMetricName): string {
  const values = runs.map(({ figures }) => figures[metric]);
  return rangeText(values, runMetrics[metric].unit);
}

const differenceCells = (row: ComparedArms, { seeds, primary }: Summary): string[] =>
  mainMetrics.map((metric) => {
    const difference = row.differences[metric];
    const text =
      differenceText(difference, runMetrics[metric].unit) + seedCountText(difference, seeds.length);
    return isPrimary(primary, row, metric) ? `${text} (primary)` : text;
  });

function controlParts(summary: Summary): string[] {
  const { againstControls: rows, tests } = summary;
  if (rows.length === 0) return [];
  return [
    '## Against a frozen simulator with the same agent',
    'What training the simulator is worth where the agent is trained in the same way: arm minus ' +
      `control, under the same seed. ${familyText(tests)}`,
    table(
      ['arm', 'control', ...mainTitles(summary)],
      rows.map((row) => [row.arm, row.reference, ...differenceCells(row, summary)]),
    ),
  ];
}

function curveTable(arms: readonly ArmSummary[]): string {
  const shown = thinToNine((arms[0]?.curve ?? []).map(({ rollouts }) => rollouts));
  return table(
    ['rollouts', ...arms.map(({ arm }) => arm)],
    shown.map((rollouts) => [
      String(rollouts),
      ...arms.map(({ curve }) => estimateText(curve.find((point) => point.rollouts === rollouts) ?? null)),
    ]),
  );
}

function runsTable({ arms, homes }: Summary): string {
  const homeOf = (id: string): string[] =>
    homes.filter(({ runs }) => runs.includes(id)).map(({ name: home }) => home);
  return table(
    ['run', 'last line of its ledger', ...(homes.length === 0 ? [] : ['home'])],
    arms.flatMap(({ runs }) =>
      runs.map(({ id, ledger }) => [`\`${id}\``, `\`${ledger.slice(0, 16)}\``, ...homeOf(id)]),
    ),
  );
}

function paperTable(summary: Summary): string {
  const rows = paperRows(summary);
  const arms = Object.keys(rows[0]?.ours ?? {});
  return table(
    ['claim', 'paper', ...arms],
    rows.map(({ claim, paper, ours }) => [claim, paper, ...arms.map((arm) => ours[arm] ?? '–')]),
  );
}
