import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import type { ProbeSummary } from './probes.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { estimateText, sideOf } from './seed-estimates.ts';
import type { SeedEstimate } from './seed-estimates.ts';

export type ClaimVerdict = 'held' | 'not held' | 'not measured';

/** A claim of the method, the paper's figure if one is comparable, and ours. Rules: docs/comparison.md. */
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

/** Null if nothing was measured, or if a single seed leaves no interval to judge by. */
export type CheckResult = boolean | null;

/** A claim holds if all of its checks are true; one that is false settles it. */
export function claimVerdict(checks: readonly CheckResult[]): ClaimVerdict {
  if (checks.includes(false)) return 'not held';
  return checks.includes(null) ? 'not measured' : 'held';
}

/** Whether both 95 % intervals are entirely above, or below, a level. */
export const isAbove = (estimate: SeedEstimate | null, level = 0): CheckResult =>
  check(estimate && sideOf(estimate, level), (side) => side === 1);
export const isBelow = (estimate: SeedEstimate | null, level = 0): CheckResult =>
  check(estimate && sideOf(estimate, level), (side) => side === -1);
export const isAtLeast = (value: number | null | undefined, level: number): CheckResult =>
  check(value, (measured) => measured >= level);

const check = (value: number | null | undefined, holds: (value: number) => boolean): CheckResult =>
  value === null || value === undefined ? null : holds(value);

/** The method itself: both policies learn. */
export const isMethod = ({ arm, agent, environment }: Experiment): boolean =>
  arm.type === 'genenv' && agent.training !== null && environment.training !== null;
/** Whether the agent also attempts base and earlier tasks. */
export const hasReplay = ({ pools }: Experiment): boolean =>
  pools.train.mix.base + pools.train.mix.history > 0;

/** `name 0.412 [0.380, 0.447]`, of a metric of an arm. */
export const metricText = (name: string, arm: ArmSummary | undefined, metric: RunMetricName): string[] =>
  arm === undefined ? [] : [`${name} ${estimateText(arm.figures[metric], runMetrics[metric].unit)}`];

type Experiments = Readonly<Record<string, Experiment>>;

/** The first arm of each preset in which both policies learn: the method, as its presets have it. */
export function firstArmOfEachPreset(experiments: Experiments): string[] {
  const presets = new Map<string, string>();
  for (const [name, experiment] of Object.entries(experiments))
    if (experiment.arm.type === 'genenv' && isMethod(experiment) && !presets.has(experiment.arm.preset))
      presets.set(experiment.arm.preset, name);
  return [...presets.values()];
}

/** The settings of an agent's training, and the mix of tasks that it attempts. */
const agentTraining = ({ agent, pools }: Experiment) => ({ agent, pools: { train: pools.train } });

/** Whether the agents of two arms are trained in the same way. */
export const hasSameAgentTraining = (left: Experiment, right: Experiment): boolean =>
  changedFields(agentTraining(left), agentTraining(right)) === '';

/**
 * The arm whose simulator is frozen, and whose agent is trained as this arm's; null if there is none, and for
 * an agent that does not learn.
 */
export function controlOf(experiments: Experiments, arm: string): string | null {
  const judged = experiments[arm]!;
  if (judged.agent.training === null) return null;
  const control = Object.entries(experiments).find(
    ([name, experiment]) =>
      name !== arm &&
      ['genenv', 'random'].includes(experiment.arm.type) &&
      experiment.environment.training === null &&
      hasSameAgentTraining(experiment, judged),
  );
  return control?.[0] ?? null;
}

/** A note for the reader on each arm whose agent is trained otherwise than the baseline's. */
export function* describeAgentTrainingDifferences(
  experiments: Experiments,
  baseline: string,
): Generator<string> {
  const base = experiments[baseline]!;
  for (const [name, experiment] of Object.entries(experiments)) {
    if (experiment.agent.training === null || base.agent.training === null) continue;
    const changed = changedFields(agentTraining(base), agentTraining(experiment), 20);
    if (changed !== '')
      yield (
        `${name} trains its agent otherwise than ${baseline} (${changed}): what differs between them is ` +
        'not the curriculum’s alone.'
      );
  }
}
