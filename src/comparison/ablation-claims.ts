import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import { range } from '../numerics/arithmetic.ts';
import { ROUNDING } from '../numerics/preconditions.ts';
import { estimateDifference } from './arm-summary.ts';
import type { ArmSummary } from './arm-summary.ts';
import { claimVerdict, isAbove, isBelow } from './claim-rules.ts';
import type { Claim, ClaimEvidence } from './claim-rules.ts';
import { estimateText } from './seed-estimates.ts';

/** Claims about single settings of the method: arms that differ from the main one in those alone. */
export function ablationClaims({ arms, experiments }: ClaimEvidence, main: ArmSummary): Claim[] {
  const base = experiments[main.arm]!;
  const variants = (neutralize: (experiment: Experiment) => Experiment) => {
    const comparable = (experiment: Experiment) => ({ ...neutralize(experiment), name: '' });
    return arms.filter(({ arm }) => changedFields(comparable(experiments[arm]!), comparable(base)) === '');
  };
  return [
    ...targetClaim(variants(withoutTarget), ({ arm }) => experiments[arm]!.difficulty.alpha),
    ...weightsClaim(variants(withoutFilterAndWeights), ({ arm }) => experiments[arm]!),
  ];
}

const withoutTarget = (experiment: Experiment): Experiment => ({
  ...experiment,
  difficulty: { ...experiment.difficulty, alpha: 0 },
});
const withoutFilterAndWeights = ({ environment, ...experiment }: Experiment): Experiment => ({
  ...experiment,
  filter: { type: 'off' },
  environment: { ...environment, training: environment.training && { ...environment.training, lambda: 0 } },
});
const areaOf = ({ figures }: ArmSummary): number => figures.area?.mean ?? 0;
const areaText = (name: string, arm: ArmSummary): string => `${name} ${estimateText(arm.figures.area)}`;

function* targetClaim(arms: readonly ArmSummary[], alphaOf: (arm: ArmSummary) => number): Generator<Claim> {
  const sorted = arms.toSorted((a, b) => alphaOf(a) - alphaOf(b));
  const half = sorted.find((arm) => alphaOf(arm) === 0.5);
  if (half === undefined || sorted.length < 3) return;
  const ends = [sorted[0]!, sorted.at(-1)!];
  yield {
    claim: 'α = 0.5 is right: the largest area under the held-out curve, and more than at both ends',
    paper: 'argued from p(1-p), not measured',
    ours: sorted.map((arm) => areaText(`α ${alphaOf(arm)}:`, arm)).join('; '),
    verdict: claimVerdict([
      sorted.every((arm) => areaOf(arm) <= areaOf(half)),
      ...ends.map((end) => (end === half ? null : isAbove(estimateDifference(half, end, 'area')))),
    ]),
  };
}

function* weightsClaim(
  arms: readonly ArmSummary[],
  experimentOf: (arm: ArmSummary) => Experiment,
): Generator<Claim> {
  const find = (hasFilter: boolean, hasWeights: boolean) =>
    arms.find((arm) => {
      const { filter, environment } = experimentOf(arm);
      return (filter.type !== 'off') === hasFilter && environment.training!.lambda > 0 === hasWeights;
    });
  const [filter, weights, both] = [find(true, false), find(false, true), find(true, true)];
  if (filter === undefined || weights === undefined || both === undefined) return;
  yield {
    claim: 'the filter and the weights are both needed: neither alone has more area under the held-out curve',
    paper: 'both are used, not measured',
    ours: [areaText('filter alone', filter), areaText('weights alone', weights), areaText('both', both)].join(
      '; ',
    ),
    verdict: keepsSeveralRewards(experimentOf(both))
      ? claimVerdict([filter, weights].map((alone) => isBelow(estimateDifference(alone, both, 'area'))))
      : 'not measured',
  };
}

/** Whether the simulator's tasks that a filter keeps can differ in reward; if not, weights have nothing to prefer. */
function keepsSeveralRewards({ filter, difficulty, agent }: Experiment): boolean {
  if (filter.type !== 'threshold' || difficulty.per === 'batch') return true;
  if (!filter.appliesTo.includes('environment')) return true;
  const { rolloutsPerTask: n } = agent;
  const distances = range(n + 1).map((k) => Math.abs(k / n - difficulty.alpha));
  const kept = distances.filter((distance) => distance <= filter.kMin + ROUNDING);
  return new Set(kept.map((distance) => Math.round(distance / ROUNDING))).size > 1;
}
