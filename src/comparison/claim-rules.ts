import { privilegeOf } from '../config/arms.ts';
import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import { LEAST_PAIRS } from '../numerics/sign-flip.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import { metricCell } from './metric-cell.ts';
import type { ProbeSummary } from './probes.ts';
import type { RunMetricName } from './run-metrics.ts';
import { areSeedsAlike, sideOf } from './seed-estimates.ts';
import type { SeedEstimate } from './seed-estimates.ts';

export type ClaimVerdict = 'held' | 'not held' | 'undecided' | 'direction only' | 'not measured';

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

/**
 * Undecided if the interval has the level in it, direction only if the rule asks for no more than a sign; null if
 * nothing was measured, or if a single seed leaves no interval to judge by.
 */
export type CheckResult = boolean | 'undecided' | 'direction only' | null;

/**
 * A claim holds if all of its checks are true, and is only as sure as the weakest of them; one that is false
 * settles it.
 */
export function claimVerdict(checks: readonly CheckResult[]): ClaimVerdict {
  if (checks.includes(false)) return 'not held';
  if (checks.includes(null)) return 'not measured';
  return (['undecided', 'direction only'] as const).find((weak) => checks.includes(weak)) ?? 'held';
}

/** Whether the 95 % interval is entirely above, or below, a level; undecided if the level is in it. */
export const isAbove = (estimate: SeedEstimate | null, level = 0): CheckResult =>
  isOnSide(estimate, level, 1);
export const isBelow = (estimate: SeedEstimate | null, level = 0): CheckResult =>
  isOnSide(estimate, level, -1);

function isOnSide(estimate: SeedEstimate | null, level: number, side: 1 | -1): CheckResult {
  const position = estimate && sideOf(estimate, level);
  if (estimate === null || position === null) return null;
  // Six seeds that all lie on the level are on neither side.
  const isOnLevel = areSeedsAlike(estimate) && estimate.seeds >= LEAST_PAIRS;
  return position === 0 && !isOnLevel ? 'undecided' : position === side;
}

/**
 * Whether a mean has this sign: true or false with its whole interval. If the interval has 0 in it, direction only
 * for a mean of this sign, undecided for another.
 */
export function hasSign(estimate: SeedEstimate | null, sign: 1 | -1): CheckResult {
  if (estimate === null) return null;
  const check = isOnSide(estimate, 0, sign);
  if (typeof check === 'boolean') return check;
  return Math.sign(estimate.mean) === sign ? 'direction only' : 'undecided';
}

/** The method itself: both policies learn. */
export const isMethod = ({ arm, agent, environment }: Experiment): boolean =>
  arm.type === 'genenv' && agent.training !== null && environment.training !== null;
/** Whether the agent also attempts base and earlier tasks. */
export const hasReplay = ({ pools }: Experiment): boolean =>
  pools.train.mix.base + pools.train.mix.history > 0;

/** `name 0.412 [0.380, 0.447]`, of a metric of an arm. */
export const metricText = (name: string, arm: ArmSummary | undefined, metric: RunMetricName): string[] =>
  arm === undefined ? [] : [`${name} ${metricCell(arm, metric)}`];

type Experiments = Readonly<Record<string, Experiment>>;

/** The first arm of each preset in which both policies learn: the method, as its presets have it. */
export function firstArmOfEachPreset(experiments: Experiments): string[] {
  const presets = new Map<string, string>();
  for (const [name, experiment] of Object.entries(experiments))
    if (experiment.arm.type === 'genenv' && isMethod(experiment) && !presets.has(experiment.arm.preset))
      presets.set(experiment.arm.preset, name);
  return [...presets.values()];
}

/** The settings of an agent's training, the mix of tasks that it attempts, and the gate that may roll it back. */
const agentTraining = ({ agent, pools, guards }: Experiment) => ({
  agent,
  pools: { train: pools.train },
  guards: { gateAgent: guards.gateAgent },
});

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

/** A note for the reader on the arms that are told what the simulator has to find out, one for each privilege. */
export function* describePrivileges(experiments: Experiments): Generator<string> {
  const privileges = Object.entries(experiments).map(([name, { arm }]) => [name, privilegeOf(arm)] as const);
  for (const [privilege, names] of groupByText(privileges))
    yield names.length === 1
      ? `${names[0]!} is told ${privilege}: that favours it over arms whose simulator has to find it out.`
      : `${listText(names)} are told ${privilege}: that favours them over arms whose simulator has to find it out.`;
}

/** A note for the reader on the arms whose agent is trained otherwise than the baseline's, one for each way. */
export function* describeAgentTrainingDifferences(
  experiments: Experiments,
  baseline: string,
): Generator<string> {
  const base = experiments[baseline]!;
  const changes = Object.entries(experiments).map(([name, experiment]) => {
    if (experiment.agent.training === null || base.agent.training === null) return [name, null] as const;
    const changed = changedFields(agentTraining(base), agentTraining(experiment), 20);
    return [name, changed === '' ? null : changed] as const;
  });
  for (const [changed, names] of groupByText(changes))
    yield (
      `${listText(names)} ${names.length === 1 ? 'trains its agent' : 'train their agents'} otherwise than ${baseline} ` +
      `(${changed}): what differs between them is not the curriculum’s alone.`
    );
}

/** The names with the same text, in the order of the first of them; names without a text are left out. */
function groupByText(
  texts: readonly (readonly [name: string, text: string | null])[],
): [text: string, names: string[]][] {
  const entries = texts.flatMap(([name, text]) => (text === null ? [] : [{ name, text }]));
  return [...Map.groupBy(entries, ({ text }) => text)].map(([text, group]) => [
    text,
    group.map(({ name }) => name),
  ]);
}

/** `a`, `a and b`, `a, b and c`. */
const listText = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)!}`;
