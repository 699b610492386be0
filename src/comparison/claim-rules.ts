import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import { estimateText, sideOf } from './over-seeds.ts';
import type { OverSeeds } from './over-seeds.ts';
import type { ProbeSummary } from './probes.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';

export type ClaimVerdict = 'held' | 'not held' | 'not measured';

/**
 * A claim of the method, the paper's figure where one is comparable, and ours. The rules of the verdicts:
 * docs/comparison.md.
 */
export interface Claim {
  claim: string;
  paper: string;
  ours: string;
  verdict: ClaimVerdict;
}

/** What claims are judged by. */
export interface ClaimEvidence {
  arms: readonly ArmSummary[];
  experiments: Record<string, Experiment>;
  crossPlay: readonly CrossPlaySummary[];
  probes: readonly ProbeSummary[];
}

/**
 * True, false, or null where nothing was measured, or a single seed leaves open what an interval would say.
 */
export type CheckResult = boolean | null;

/** A claim holds where all of its findings are true; one that is false settles it. */
export const claimVerdict = (findings: readonly CheckResult[]): ClaimVerdict =>
  findings.includes(false) ? 'not held' : findings.includes(null) ? 'not measured' : 'held';

/** Whether the whole of both 95 % intervals is above, or below, a level. */
export const above = (estimate: OverSeeds | null, level = 0): CheckResult =>
  compared(estimate && sideOf(estimate, level), (side) => side === 1);
export const below = (estimate: OverSeeds | null, level = 0): CheckResult =>
  compared(estimate && sideOf(estimate, level), (side) => side === -1);
export const atLeast = (value: number | null | undefined, level: number): CheckResult =>
  compared(value, (one) => one >= level);

const compared = (value: number | null | undefined, holds: (value: number) => boolean): CheckResult =>
  value === null || value === undefined ? null : holds(value);

/** The method itself: both policies learn. */
export const isMethod = ({ arm, agent, environment }: Experiment): boolean =>
  arm.type === 'genenv' && agent.training !== null && environment.training !== null;
/** Shares of base and earlier tasks in what the agent attempts. */
export const replays = ({
  pools: {
    train: { mix },
  },
}: Experiment): boolean => mix.base + mix.history > 0;

/** `name 0.412 [0.380, 0.447]`, of a figure of an arm. */
export const metricText = (name: string, arm: ArmSummary | undefined, figure: RunMetricName): string[] =>
  arm === undefined ? [] : [`${name} ${estimateText(arm.figures[figure], runMetrics[figure].unit)}`];

type Experiments = Readonly<Record<string, Experiment>>;

/** The first arm of each preset in which both policies learn: the method, as its presets have it. */
export function firstOfEachPreset(experiments: Experiments): string[] {
  const presets = new Map<string, string>();
  for (const [name, experiment] of Object.entries(experiments))
    if (experiment.arm.type === 'genenv' && isMethod(experiment) && !presets.has(experiment.arm.preset))
      presets.set(experiment.arm.preset, name);
  return [...presets.values()];
}

/** What an agent's training is: its settings, and the mix of tasks that it attempts. */
const training = ({ agent, pools }: Experiment) => ({ agent, pools: { train: pools.train } });

/** Whether the agents of two arms are trained in the same way. */
export const hasSameAgentTraining = (one: Experiment, other: Experiment): boolean =>
  changedFields(training(one), training(other)) === '';

/**
 * The arm whose simulator is frozen, and whose agent is trained as this one's; null where there is none, and
 * for an agent that does not learn.
 */
export function controlOf(experiments: Experiments, of: string): string | null {
  if (experiments[of]!.agent.training === null) return null;
  const found = Object.entries(experiments).find(
    ([name, experiment]) =>
      name !== of &&
      ['genenv', 'random'].includes(experiment.arm.type) &&
      experiment.environment.training === null &&
      hasSameAgentTraining(experiment, experiments[of]!),
  );
  return found?.[0] ?? null;
}

/** Arms whose agent is trained in another way than the baseline's, as a note for the reader. */
export function* describeAgentTrainingDifferences(
  experiments: Experiments,
  baseline: string,
): Generator<string> {
  for (const [name, experiment] of Object.entries(experiments)) {
    if (experiment.agent.training === null || experiments[baseline]!.agent.training === null) continue;
    const changed = changedFields(training(experiments[baseline]!), training(experiment), 20);
    if (changed !== '')
      yield `${name} trains its agent otherwise than ${baseline} (${changed}): what differs between them is not the curriculum’s alone.`;
  }
}
