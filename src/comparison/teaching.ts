/** Which success rate teaches most: arms that differ in the success of their tasks alone (`success-bin`). */
import type { SuccessBinArm } from '../config/arms.ts';
import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import { ROUNDING } from '../numerics/preconditions.ts';
import { estimateDifference } from './arm-summary.ts';
import type { ArmSummary } from './arm-summary.ts';
import { claimVerdict, isAbove } from './claim-rules.ts';
import type { CheckResult, Claim, ClaimEvidence } from './claim-rules.ts';
import { runMetrics } from './run-metrics.ts';
import { estimateText, valueText } from './seed-estimates.ts';

/** Arms whose agents are trained in the same way on tasks of different success. */
export interface Bins {
  alpha: number;
  /** By p̂ of fresh attempts, the hardest first; arms without it are left out. */
  bins: Bin[];
  /** The arm whose tasks are spread evenly over all rates. */
  mix: ArmSummary | undefined;
}

export interface Bin {
  arm: ArmSummary;
  /** Success of the initial agent on the arm's tasks, in attempts that chose none of them; mean over seeds. */
  success: number;
}

/** How far p̂ of the bin may be from the target α that it stands for. */
const NEAR = 0.1;
/** Bins at least this far from α must teach less. */
const FAR = 0.3;

/** The bins of a comparison: one set for each way in which agents are trained. */
export function binsOf({ arms, experiments }: Pick<ClaimEvidence, 'arms' | 'experiments'>): Bins[] {
  const sets: { example: Experiment; members: { arm: ArmSummary; target: number | null }[] }[] = [];
  for (const arm of arms) {
    const experiment = experiments[arm.arm]!;
    if (experiment.arm.type !== 'success-bin') continue;
    const { target } = experiment.arm;
    const example = withoutTarget(experiment, experiment.arm);
    const set = sets.find((candidate) => changedFields(candidate.example, example) === '');
    if (set === undefined) sets.push({ example, members: [{ arm, target }] });
    else set.members.push({ arm, target });
  }
  return sets.map(({ example, members }) => ({
    alpha: example.difficulty.alpha,
    bins: members
      .filter(({ target }) => target !== null)
      .flatMap(({ arm }): Bin[] => {
        const success = arm.figures.binSuccess?.mean;
        return success === undefined ? [] : [{ arm, success }];
      })
      .toSorted((a, b) => a.success - b.success),
    mix: members.find(({ target }) => target === null)?.arm,
  }));
}

const withoutTarget = (experiment: Experiment, arm: SuccessBinArm): Experiment => ({
  ...experiment,
  name: '',
  arm: { ...arm, target: null },
});

/** The claims on bins, for each way in which agents are trained; judged by the bin that is nearest to α. */
export const teachingClaims = (evidence: ClaimEvidence): { arm: string; rows: Claim[] }[] =>
  binsOf(evidence).flatMap((set) => {
    const main = nearestToTarget(set);
    return main === undefined
      ? []
      : [{ arm: main.arm.arm, rows: [peakClaim(set, main), mixClaim(set, main)] }];
  });

/** The bin that stands for α: the one whose p̂ is nearest to it. */
const nearestToTarget = ({ alpha, bins }: Bins): Bin | undefined =>
  bins.toSorted((a, b) => Math.abs(a.success - alpha) - Math.abs(b.success - alpha))[0];

function peakClaim({ alpha, bins }: Bins, main: Bin): Claim {
  const below = bins.filter(({ success }) => success <= alpha - FAR + ROUNDING);
  const above = bins.filter(({ success }) => success >= alpha + FAR - ROUNDING);
  const isReached = Math.abs(main.success - alpha) <= NEAR + ROUNDING;
  const hasSides = below.length > 0 && above.length > 0;
  return {
    claim:
      `tasks at p = α (${alpha}) teach most: they teach, no other bin has a larger mean, and every bin at least ` +
      `${FAR} away, on both sides, teaches less`,
    paper: 'argued from p(1-p), not measured',
    ours: bins
      .map(({ arm, success }) => `p̂ ${valueText(success)}: ${gainText(arm)}`)
      .concat(hasSides ? [] : [`no bin at least ${FAR} from α on both sides`])
      .join('; '),
    verdict:
      isReached && hasSides ? claimVerdict(peakChecks(main, bins, [...below, ...above])) : 'not measured',
  };
}

const peakChecks = (main: Bin, bins: readonly Bin[], far: readonly Bin[]): CheckResult[] => [
  isAbove(main.arm.figures.logprobGain),
  hasLargestMean(main, bins),
  ...far.map(({ arm }) => isAbove(estimateDifference(main.arm, arm, 'logprobGain'))),
];

function hasLargestMean(main: Bin, bins: readonly Bin[]): CheckResult {
  const gains = bins.map(({ arm }) => arm.figures.logprobGain?.mean);
  const own = main.arm.figures.logprobGain?.mean;
  if (own === undefined || gains.includes(undefined)) return null;
  return gains.every((gain) => gain! <= own);
}

const mixClaim = ({ alpha, mix }: Bins, main: Bin): Claim => ({
  claim: `tasks at p = α (${alpha}) teach more than tasks of all success rates`,
  paper: 'not measured',
  ours:
    mix === undefined
      ? 'no mix of all success rates'
      : `p̂ ${valueText(main.success)}: ${gainText(main.arm)}; ${mix.arm}: ${gainText(mix)}; difference ` +
        estimateText(estimateDifference(main.arm, mix, 'logprobGain'), runMetrics.logprobGain.unit),
  verdict: claimVerdict(
    mix === undefined || Math.abs(main.success - alpha) > NEAR + ROUNDING
      ? [null]
      : [isAbove(estimateDifference(main.arm, mix, 'logprobGain'))],
  ),
});

const gainText = ({ figures }: ArmSummary): string =>
  estimateText(figures.logprobGain, runMetrics.logprobGain.unit);
