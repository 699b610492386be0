import { differenceText, estimateText, rangeText, valueText } from './estimate-text.ts';
import { figures } from './figures.ts';
import type { FigureName } from './figures.ts';
import { table } from './markdown-table.ts';
import { paperRows } from './paper.ts';
import { measuresParts } from './results-measures.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { OverSeeds } from './over-seeds.ts';
import type { Against, Summary } from './summary.ts';

const made = ['rollouts', 'agentSteps', 'environmentSteps'] as const satisfies FigureName[];
const main = [
  'area',
  'rolloutsToThreshold',
  'finalHeldOut',
  'residence',
  'informative',
] as const satisfies FigureName[];

/** The comparison's tables, as docs/results.md holds them. Equal summaries give equal text. */
export function resultsMarkdown(summary: Summary): string {
  const { name, arms, against, seeds, epochs, rolloutsPerEpoch, rollouts, notes, claims } = summary;
  return [
    `# Results: ${name}`,
    `Made by \`genenv compare\`, from the runs' ledgers and what was measured on their policies. ${arms.length} arms, ${seeds.length === 1 ? `seed ${seeds[0]}` : `seeds ${seeds.join(', ')}`}, ${epochs} epochs of ${rolloutsPerEpoch} rollouts of the agent each. Every arm is given the same rollouts, updates of the agent, warm policies (by seed) and held-out tasks. What is no task is not attempted, and an epoch without signal updates nothing, so arms make different use of that: curves go by the rollouts that were made, and are compared up to ${rollouts}, which every run made. Brackets are 95 % intervals of the mean over seeds, by bootstrap; over few seeds those are too narrow, so bold and verdicts ask Student’s interval too.`,
    ...notes.map((note) => `> ${note}`),
    ...(claims.length === 0
      ? []
      : [
          '## Claims',
          'Of the method. A claim is held or not held by its rule (docs/comparison.md); not measured is what this comparison cannot tell: it lacks an arm, a probe, seeds, or what would put it to the test.',
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
      ['arm', ...main.map((figure) => titleOf(figure, summary))],
      arms.map((arm) => [arm.arm, ...main.map((figure) => cell(arm, figure, seeds.length))]),
    ),
    'What they made of what they were given, fewest to most over the seeds:',
    table(
      ['arm', ...made.map((figure) => figures[figure].title)],
      arms.map(({ arm, runs }) => [
        arm,
        ...made.map((figure) =>
          rangeText(
            runs.map((run) => run.figures[figure]),
            figures[figure].unit,
          ),
        ),
      ]),
    ),
    ...against.flatMap((one) => againstParts(one, summary)),
    ...controlParts(summary),
    '## Learning curves',
    'Held-out success after so many rollouts, linear between evaluations; brackets here are Student’s 95 % intervals.',
    curves(arms),
    '## Curriculum',
    'Of the tasks as the simulator wrote them: first to last five epochs, and first to last third of the run.',
    table(
      ['arm', 'difficulty', 'tokens of correct answers', 'never solved (k = 0)', 'always solved (k = n)'],
      arms.map((arm) => [
        arm.arm,
        course(arm, 'difficultyStart', 'difficultyEnd'),
        course(arm, 'lengthStart', 'lengthEnd'),
        course(arm, 'unsolvedStart', 'unsolvedEnd'),
        course(arm, 'solvedStart', 'solvedEnd'),
      ]),
    ),
    'Shares of never and of always solved tasks by epoch, mean over the seeds:',
    shares(arms),
    ...kindParts(arms),
    '## Guards',
    'What a band of success can hide: guards that warn at the end of a run, and under how many seeds.',
    ...arms.map(
      ({ arm, warnings, runs }) =>
        `- **${arm}**: ${warnings.length === 0 ? 'none' : warnings.map(({ guard, threshold, seeds: warned }) => `${guard} (wanted ${threshold}) under ${warned} of ${runs.length}`).join('; ')}`,
    ),
    ...measuresParts(summary),
    '## Beside the paper',
    'Other models, other tasks, and one run without intervals there: directions can be compared, sizes can not.',
    paperTable(summary),
    '## Runs',
    table(
      ['run', 'last line of its ledger'],
      arms.flatMap(({ runs }) => runs.map(({ id, ledger }) => [`\`${id}\``, `\`${ledger.slice(0, 16)}\``])),
    ),
    '',
  ]
    .join('\n\n')
    .replace(/\n\n(?=- \*\*)/g, (gap, at: number, text: string) =>
      text.slice(0, at).split('\n').at(-1)!.startsWith('- ') ? '\n' : gap,
    )
    .replace(/\n+$/, '\n');
}

function againstParts({ reference, rows }: Against, summary: Summary): string[] {
  if (rows.length === 0) return [];
  return [
    `## Against ${reference}`,
    `Differences under the same seed, arm minus ${reference}. Bold where both intervals leave 0 out. Of rollouts to the threshold fewer are better; only seeds under which both arms reached it count.`,
    table(
      ['arm', ...main.map((figure) => titleOf(figure, summary))],
      rows.map(({ arm, differences }) => [
        arm,
        ...main.map((figure) => differenceCell(differences[figure], figure, summary.seeds.length)),
      ]),
    ),
  ];
}

const titleOf = (figure: FigureName, { threshold }: Summary): string =>
  figure === 'rolloutsToThreshold' ? `rollouts to held-out ${threshold}` : figures[figure].title;

function cell({ figures: of }: ArmSummary, figure: FigureName, seeds: number): string {
  const estimate = of[figure];
  if (figure === 'rolloutsToThreshold' && estimate === null) return 'never';
  return `${estimateText(estimate, figures[figure].unit)}${pairsText(estimate?.seeds, seeds)}`;
}

const differenceCell = (difference: OverSeeds | null, figure: FigureName, seeds: number): string =>
  `${differenceText(difference, figures[figure].unit)}${pairsText(difference?.seeds, seeds)}`;
const pairsText = (counted: number | undefined, seeds: number): string =>
  counted === undefined || counted === seeds ? '' : ` (${counted} of ${seeds} seeds)`;
const course = ({ figures: of }: ArmSummary, from: FigureName, to: FigureName): string =>
  `${valueText(of[from]?.mean, figures[from].unit)} to ${valueText(of[to]?.mean, figures[to].unit)}`;

function controlParts(summary: Summary): string[] {
  const { againstControls, seeds } = summary;
  if (againstControls.length === 0) return [];
  return [
    '## Against a frozen simulator with the same agent',
    'What training the simulator is worth where the agent is trained in the same way: arm minus control, under the same seed.',
    table(
      ['arm', 'control', ...main.map((figure) => titleOf(figure, summary))],
      againstControls.map(({ arm, control, differences }) => [
        arm,
        control,
        ...main.map((figure) => differenceCell(differences[figure], figure, seeds.length)),
      ]),
    ),
  ];
}

function curves(arms: readonly ArmSummary[]): string {
  const shown = atMostNine((arms[0]?.curve ?? []).map(({ rollouts }) => rollouts));
  return table(
    ['rollouts', ...arms.map(({ arm }) => arm)],
    shown.map((rollouts) => [
      String(rollouts),
      ...arms.map(({ curve }) => estimateText(curve.find((point) => point.rollouts === rollouts) ?? null)),
    ]),
  );
}

function shares(arms: readonly ArmSummary[]): string {
  const shown = atMostNine([...(arms[0]?.courses.unsolved ?? []).keys()]);
  return table(
    ['epoch', ...arms.map(({ arm }) => arm)],
    shown.map((row) => [
      String(row + 1),
      ...arms.map(
        ({ courses: { unsolved, solved } }) => `${valueText(unsolved[row])}, ${valueText(solved[row])}`,
      ),
    ]),
  );
}

function kindParts(arms: readonly ArmSummary[]): string[] {
  const kinds = [...new Set(arms.flatMap((arm) => arm.kinds.map(({ kind }) => kind)))].sort();
  if (kinds.length === 0) return [];
  const cell = (found: ArmSummary['kinds'][number] | undefined): string =>
    found === undefined ? '–' : `${valueText(found.end)} (${valueText(found.most)})`;
  return [
    'Kinds of tasks: their shares in the last five epochs, mean over the seeds, and the most of five epochs on end under any seed:',
    table(
      ['arm', ...kinds],
      arms.map((arm) => [arm.arm, ...kinds.map((kind) => cell(arm.kinds.find((one) => one.kind === kind)))]),
    ),
  ];
}

/** The first and the last of them, and some between, evenly spaced. */
function atMostNine<T>(all: readonly T[]): T[] {
  const step = Math.max(1, Math.ceil((all.length - 1) / 8));
  return all.filter((_, index) => index % step === 0 || index === all.length - 1);
}

function paperTable(summary: Summary): string {
  const rows = paperRows(summary);
  const arms = Object.keys(rows[0]?.ours ?? {});
  return table(
    ['claim', 'paper', ...arms],
    rows.map(({ claim, paper, ours }) => [claim, paper, ...arms.map((arm) => ours[arm] ?? '–')]),
  );
}
