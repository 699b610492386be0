import { mean } from '../numerics/arithmetic.ts';
import { WINDOW } from '../report/findings.ts';
import { measured } from '../report/run-data.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import { differenceText, estimateText, rangeText, valueText } from './over-seeds.ts';
import type { OverSeeds } from './over-seeds.ts';
import type { ProbeSummary } from './probes.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import type { Against, Summary } from './summary.ts';

const made = ['rollouts', 'agentSteps', 'environmentSteps'] as const satisfies RunMetricName[];
const main = [
  'area',
  'rolloutsToThreshold',
  'finalHeldOut',
  'residence',
  'informative',
] as const satisfies RunMetricName[];

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
      ['arm', ...made.map((figure) => runMetrics[figure].title)],
      arms.map(({ arm, runs }) => [
        arm,
        ...made.map((figure) =>
          rangeText(
            runs.map((run) => run.figures[figure]),
            runMetrics[figure].unit,
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

const titleOf = (figure: RunMetricName, { threshold }: Summary): string =>
  figure === 'rolloutsToThreshold' ? `rollouts to held-out ${threshold}` : runMetrics[figure].title;

function cell({ figures: of }: ArmSummary, figure: RunMetricName, seeds: number): string {
  const estimate = of[figure];
  if (figure === 'rolloutsToThreshold' && estimate === null) return 'never';
  return `${estimateText(estimate, runMetrics[figure].unit)}${pairsText(estimate?.seeds, seeds)}`;
}

const differenceCell = (difference: OverSeeds | null, figure: RunMetricName, seeds: number): string =>
  `${differenceText(difference, runMetrics[figure].unit)}${pairsText(difference?.seeds, seeds)}`;
const pairsText = (counted: number | undefined, seeds: number): string =>
  counted === undefined || counted === seeds ? '' : ` (${counted} of ${seeds} seeds)`;
const course = ({ figures: of }: ArmSummary, from: RunMetricName, to: RunMetricName): string =>
  `${valueText(of[from]?.mean, runMetrics[from].unit)} to ${valueText(of[to]?.mean, runMetrics[to].unit)}`;

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

/**
 * The parts of results.md that are measured on policies of finished runs; none where the file asks for none.
 */
export function measuresParts({ crossPlay, probes }: Pick<Summary, 'crossPlay' | 'probes'>): string[] {
  return [
    ...(crossPlay.length === 0
      ? []
      : [
          '## Cross-play',
          'Success of the agent of one epoch (row) on tasks of the simulator of another (column), mean over seeds. Co-evolution shows as success that falls along the simulators and rises along the agents; the trends are rank correlations with the epoch.',
          ...crossPlay.flatMap(crossPlayPart),
          '## Retention',
          'Tasks of each epoch’s simulator: success of the agent of that epoch, of the best agent before the last, and of the last. Forgetting is the best minus the last, mean over the epochs; the best of several is too high by chance, so it is rather too large.',
          table(
            [
              'arm',
              'tasks of epoch',
              'agent of that epoch',
              'best before the last',
              'last agent',
              'forgetting',
            ],
            crossPlay.flatMap(retentionRows),
          ),
        ]),
    ...(probes.length === 0
      ? []
      : [
          '## Gradient signal',
          'Mean of ‖(r − p̂) ∇ log π(y|x)‖² over tasks in bins of p̂ (each task alike), in units of each agent’s mean ‖∇ log π‖²; p̂ comes from the first half of the attempts, gradients from the second. Where the norm of ∇ log π does not depend on p, the second column is p(1−p). The last two say what confounds it: the norm without the factor (r − p̂)², and the length of the answers, which have a longer gradient whatever comes of them.',
          ...probes.flatMap(signalPart),
          '## Ranking',
          'How often n attempts rank two tasks wrongly by R_env; ties count as wrong. The first half of the attempts says which of two is nearer to α, the second is cut into disjoint samples. Exact: binomials at p̂, which are too few, since estimated gaps are larger than true ones. Expected: binomials with p as uncertain as its estimate, and where 99 % of such measurements would lie. Bound: Theorem 1, at most 1.',
          ...probes.flatMap(rankingPart),
        ]),
  ];
}

function crossPlayPart({ arm, seeds, epochs, rates, trends }: CrossPlaySummary): string[] {
  return [
    `### ${arm}, ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')}`,
    table(
      ['agent of epoch', ...epochs.map((epoch) => `simulator ${epoch}`)],
      epochs.map((epoch, row) => [String(epoch), ...rates[row]!.map((rate) => valueText(rate))]),
    ),
    `Along the simulators ${estimateText(trends.simulator)}, along the agents ${estimateText(trends.agent)}.`,
  ];
}

const retentionRows = ({ arm, retention: { epochs, forgetting } }: CrossPlaySummary): string[][] =>
  epochs.map(({ epoch, then, best, end }, row) => [
    arm,
    String(epoch),
    valueText(then),
    valueText(best),
    valueText(end),
    row === 0 ? estimateText(forgetting) : '',
  ]);

const agentsText = ({ agents }: ProbeSummary): string =>
  `${agents.length} ${agents.length === 1 ? 'agent' : 'agents'} (${agents.map(({ seed, epoch }) => `seed ${seed} epoch ${epoch}`).join(', ')})`;

function signalPart(probed: ProbeSummary): string[] {
  const { arm, signal, agents } = probed;
  const title = `### ${arm}: gradients of ${agentsText(probed)}`;
  if (signal === null)
    return [title, 'Not measured: the weights are elsewhere, or success did not differ between tasks.'];
  return [
    title,
    table(
      ['p̂', 'tasks', '‖(r − p̂) ∇ log π‖²', 'p(1−p)', 'fit', '‖∇ log π‖²', 'tokens'],
      signal.bins.map(({ low, high, tasks, norm, variance, score, tokens }) => [
        `${low.toFixed(1)} to ${high.toFixed(1)}`,
        String(tasks),
        valueText(norm),
        valueText(variance),
        valueText(variance === null ? null : signal.slope * variance),
        valueText(score),
        valueText(tokens, 'number'),
      ]),
    ),
    `Least squares ${valueText(signal.slope)} · p(1−p), R² ${valueText(signal.r2)}, largest in ${signal.peak.low.toFixed(1)} to ${signal.peak.high.toFixed(1)}. By agent: ${agents.map(({ seed, epoch, r2, peak }) => `seed ${seed} epoch ${epoch} R² ${valueText(r2)}${peak === null ? '' : `, largest in ${peak.low.toFixed(1)} to ${peak.high.toFixed(1)}`}`).join('; ')}.`,
  ];
}

function rankingPart(probed: ProbeSummary): string[] {
  const { arm, ranking, alpha, minGap } = probed;
  const title = `### ${arm}: ranking by ${agentsText(probed)}`;
  if (ranking.length === 0)
    return [title, `Not measured: no two tasks differ by ${minGap} in their distance from α = ${alpha}.`];
  return [
    title,
    `${ranking[0]!.pairs} pairs whose distances from α = ${alpha} differ by at least ${minGap}.`,
    table(
      ['n', 'rankings', 'mis-ranked', 'expected', '99 % range', 'exact at p̂', 'Theorem 1'],
      ranking.map(({ n, rankings, measured, exact, expected, low, high, bound }) => [
        String(n),
        String(rankings),
        valueText(measured),
        valueText(expected),
        `${valueText(low)} to ${valueText(high)}`,
        valueText(exact),
        valueText(bound),
      ]),
    ),
  ];
}
/** A table in Markdown. Cells have no line breaks; a bar in one would end it. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');

/** A claim of the paper (arXiv 2512.19682), its figure, and ours for each arm of the method. */
export interface PaperRow {
  claim: string;
  paper: string;
  ours: Record<string, string>;
}

const signed = (share: number | null): string =>
  share === null ? '–' : `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`.replace('-', '−');
const first = (values: readonly (number | null)[]): number | null => measured(values)[0] ?? null;
const last = (values: readonly (number | null)[]): number | null => mean(measured(values).slice(-WINDOW));
const change = (from: number | null, to: number | null): number | null =>
  from === null || to === null || from === 0 ? null : to / from - 1;
const less = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one - other;

/**
 * What can be set beside the paper's own figures. Its models and benchmarks are others: directions are
 * comparable, sizes are not.
 */
export function paperRows({ arms }: Summary): PaperRow[] {
  const fixed = arms.find(({ type }) => type === 'static');
  const of = (text: (arm: ArmSummary) => string): Record<string, string> =>
    Object.fromEntries(arms.filter(({ type }) => type === 'genenv').map((arm) => [arm.arm, text(arm)]));
  const random = (of: ArmSummary) => arms.find(({ arm }) => arm === of.control);
  const against = (
    find: (of: ArmSummary) => ArmSummary | undefined,
    figure: 'finalHeldOut' | 'unsolvedEnd' | 'solvedEnd',
    how: typeof change,
  ) =>
    of((arm) => {
      const other = find(arm);
      return other === undefined
        ? '–'
        : signed(how(other.figures[figure]?.mean ?? null, arm.figures[figure]?.mean ?? null));
    });
  return [
    {
      claim: 'success on simulated tasks, first epoch to the end (figures 4d, 5c, 7)',
      paper: '0.138 to 0.524',
      ours: of(
        ({ courses }) => `${valueText(first(courses.success))} to ${valueText(last(courses.success))}`,
      ),
    },
    {
      claim: 'tokens of an answer, first epoch to the end (figure 5b); ours: correct answers only',
      paper: '137 to 204 (+49 %)',
      ours: of(
        ({ courses: { correctLength } }) =>
          `${valueText(first(correctLength), 'number')} to ${valueText(last(correctLength), 'number')} (${signed(change(first(correctLength), last(correctLength)))})`,
      ),
    },
    {
      claim: 'final score against Random (with the same agent), relative (figure 6)',
      paper: '+12.3 %',
      ours: against(random, 'finalHeldOut', change),
    },
    {
      claim: 'final score against Static, relative (figure 6)',
      paper: '+6.0 %',
      ours: against(() => fixed, 'finalHeldOut', change),
    },
    {
      claim: 'tasks never solved against Random (with the same agent), points (figure 8); ours: last third',
      paper: '−20.3 %',
      ours: against(random, 'unsolvedEnd', (other, own) => less(own, other)),
    },
    {
      claim: 'tasks always solved against Random (with the same agent), points (figure 8); ours: last third',
      paper: '+3.5 %',
      ours: against(random, 'solvedEnd', (other, own) => less(own, other)),
    },
  ];
}
