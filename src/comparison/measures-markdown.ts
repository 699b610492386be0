import type { CrossPlaySummary } from './cross-play.ts';
import { table } from './markdown-table.ts';
import type { ProbeSummary } from './probes.ts';
import { estimateText, intervalText, valueText } from './seed-estimates.ts';
import type { Summary } from './summary.ts';

/** The parts of results.md on cross-play and probes; none if the comparison file asks for none. */
export const measuresParts = ({ crossPlay, probes }: Pick<Summary, 'crossPlay' | 'probes'>): string[] => [
  ...(crossPlay.length === 0 ? [] : crossPlayParts(crossPlay)),
  ...(probes.length === 0 ? [] : probeParts(probes)),
];

const crossPlayParts = (crossPlay: readonly CrossPlaySummary[]): string[] => [
  '## Cross-play',
  'Success of the agent of one epoch (row) on tasks of the simulator of another (column), mean over ' +
    'seeds. Co-evolution shows as success that falls along the simulators and rises along the agents; ' +
    'the trends are rank correlations with the epoch.',
  ...crossPlay.flatMap(crossPlayPart),
  '## Retention',
  'Tasks of each epoch’s simulator: success of the agent of that epoch, of the best agent before ' +
    'the last, and of the last. Forgetting is the best minus the last, mean over the epochs; the best ' +
    'of several is too high by chance, so it is rather too large.',
  table(
    ['arm', 'tasks of epoch', 'agent of that epoch', 'best before the last', 'last agent', 'forgetting'],
    crossPlay.flatMap(retentionRows),
  ),
];

const probeParts = (probes: readonly ProbeSummary[]): string[] => [
  '## Gradient signal',
  'Mean of ‖(r − p̂) ∇ log π(y|x)‖² over tasks in bins of p̂ (each task alike), in units of each ' +
    'agent’s mean ‖∇ log π‖²; p̂ comes from the first half of the attempts, gradients from the ' +
    'second. Where the norm of ∇ log π does not depend on p, the second column is p(1−p). The last ' +
    'two say what confounds it: the norm without the factor (r − p̂)², and the length of the answers, ' +
    'which have a longer gradient whatever comes of them.',
  ...probes.flatMap(signalPart),
  '## Ranking',
  'How often n attempts rank two tasks wrongly by R_env; ties count as wrong. The first half of the ' +
    'attempts says which of two is nearer to α, the second is cut into disjoint samples. Exact: ' +
    'binomials at p̂, which are too few, since estimated gaps are larger than true ones. Expected: ' +
    'the mean over drawn orders of each task’s attempts, which are all as likely if attempts are independent, ' +
    'and the range in which all sizes together lie in 99 % of cases. Bound: Theorem 1, at most 1.',
  ...probes.flatMap(rankingPart),
];

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

function agentsText({ agents }: ProbeSummary): string {
  const names = agents.map(({ seed, epoch }) => `seed ${seed} epoch ${epoch}`).join(', ');
  return `${agents.length} ${agents.length === 1 ? 'agent' : 'agents'} (${names})`;
}

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
    [
      stratifiedText(probed),
      `All lengths together: least squares ${valueText(signal.slope)} · p(1−p), R² ${valueText(signal.r2)}, ${peakText(signal.peak)}. `,
      `By agent: ${agents.map(agentFitText).join('; ')}.`,
    ].join(''),
  ];
}

function stratifiedText({ stratified }: ProbeSummary): string {
  if (stratified === null) return '';
  const { r2, low, high, peak, middle } = stratified;
  return (
    `Answers of like length: R² ${valueText(r2)} ${intervalText({ low, high }, 'share')}, ${peakText(peak)}, within ` +
    `0.4 to 0.6 in ${(100 * middle).toFixed(0)} % of resamples. `
  );
}

const peakText = ({ low, high }: { low: number; high: number }): string =>
  `largest in ${low.toFixed(1)} to ${high.toFixed(1)}`;

const agentFitText = ({ seed, epoch, r2, peak }: ProbeSummary['agents'][number]): string =>
  `seed ${seed} epoch ${epoch} R² ${valueText(r2)}${peak === null ? '' : `, ${peakText(peak)}`}`;

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
