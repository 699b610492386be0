import { hasReplay, claimVerdict, isAbove, isBelow, isMethod } from './claim-rules.ts';
import type { CheckResult, Claim, ClaimEvidence } from './claim-rules.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import type { ProbeSummary } from './probes.ts';
import { estimateText, intervalText, valueText } from './seed-estimates.ts';
import type { Misranking } from './theory/ranking.ts';
import type { StratifiedSignal } from './theory/stratified-signal.ts';

/** Least R² at which the signal counts as following p(1-p). */
const MIN_R2 = 0.8;
/** Success that may be lost on an epoch's tasks. */
const MAX_FORGETTING = 0.02;

/** Claims judged by policies of finished runs: cross-play and probes. */
export function measureClaims({ experiments, crossPlay, probes }: ClaimEvidence, main: ArmSummary): Claim[] {
  const played = crossPlay.filter(({ arm }) => isMethod(experiments[arm]!));
  const own = played.find(({ arm }) => arm === main.arm);
  const probed = probes.find(({ arm }) => arm === main.arm);
  return [
    crossPlayClaim(own),
    gradientClaim(probed),
    rankingClaim(probed),
    retentionClaim(played, (arm) => hasReplay(experiments[arm]!)),
  ];
}

const crossPlayClaim = (played: CrossPlaySummary | undefined): Claim => ({
  claim: 'both sides move: in cross-play success falls along the simulators and rises along the agents',
  paper: 'not in the paper (SPICE 2510.24684: 55 to 35 %, 55 to 85 %)',
  ours:
    played === undefined
      ? 'no cross-play'
      : `${played.arm}: rank correlation with the epoch ${estimateText(played.trends.simulator)} along ` +
        `simulators, ${estimateText(played.trends.agent)} along agents`,
  verdict: claimVerdict(
    played === undefined ? [null] : [isBelow(played.trends.simulator), isAbove(played.trends.agent)],
  ),
});

function gradientClaim(probed: ProbeSummary | undefined): Claim {
  const stratified = probed?.stratified ?? null;
  return {
    claim:
      'the gradient signal follows p(1-p), and is largest for p in [0.4, 0.6], among answers of like length',
    paper: 'Proposition 1, not measured',
    ours: stratified === null ? 'no gradients' : signalText(stratified, probed?.signal?.r2),
    verdict: claimVerdict(stratified === null ? [null] : [fitsWell(stratified), isSureOf(stratified.middle)]),
  };
}

const signalText = (
  { r2, low, high, peak, middle }: StratifiedSignal,
  unstratified?: number | null,
): string =>
  `R² ${valueText(r2)} ${intervalText({ low, high }, 'share')} (${valueText(unstratified)} with all lengths together), largest ` +
  `in [${peak.low.toFixed(1)}, ${peak.high.toFixed(1)}], and within [0.4, 0.6] in ${(100 * middle).toFixed(0)} % of ` +
  'resamples';

function fitsWell({ low, high }: StratifiedSignal): CheckResult {
  if (low >= MIN_R2) return true;
  return high < MIN_R2 ? false : 'undecided';
}

/** Whether so many of the resamples agree that 95 % of them lie on one side. */
function isSureOf(share: number): CheckResult {
  if (share >= 0.975) return true;
  return share <= 0.025 ? false : 'undecided';
}

function rankingClaim(probed: ProbeSummary | undefined): Claim {
  const rows = probed?.ranking ?? [];
  const falls = rows.every(({ measured }, index) => {
    const before = rows[index - 1]?.measured;
    return before === undefined || measured < before || (measured === 0 && before === 0);
  });
  const within = rows.every(
    ({ measured, low, high, bound }) => measured >= low && measured <= high && measured <= bound,
  );
  return {
    claim:
      'n attempts rank tasks by R_env ever more surely: mis-ranking falls with n, as binomials say and below Theorem 1',
    paper: 'Theorem 1, not measured',
    ours: rows.length === 0 ? 'no pairs' : rows.map(rankingText).join('; '),
    verdict: claimVerdict(rows.length < 2 ? [null] : [falls, within]),
  };
}

const rankingText = ({ n, measured, expected }: Misranking): string =>
  `n = ${n}: ${valueText(measured)} (expected ${valueText(expected)})`;

function retentionClaim(played: readonly CrossPlaySummary[], replays: (arm: string) => boolean): Claim {
  const withReplay = played.filter(({ arm }) => replays(arm));
  const withoutReplay = played.filter(({ arm }) => !replays(arm));
  const retains = ({ retention: { forgetting } }: CrossPlaySummary): CheckResult =>
    forgetting === null ? null : forgetting.mean <= MAX_FORGETTING;
  // If nothing is lost without replay, keeping it all says nothing about replay.
  const isTested = withoutReplay.some((summary) => retains(summary) === false);
  const untestedText =
    isTested || withoutReplay.length === 0 ? '' : ', so that nothing puts replay to the test';
  return {
    claim:
      `with replay from the pool at most ${MAX_FORGETTING} of success on earlier epochs' tasks is lost, ` +
      'and more without',
    paper: 'stated, not measured',
    ours: `forgetting with replay: ${forgettingText(withReplay)}; without: ${forgettingText(withoutReplay)}${untestedText}`,
    verdict: claimVerdict(withReplay.length === 0 ? [null] : [...withReplay.map(retains), isTested || null]),
  };
}

const forgettingText = (played: readonly CrossPlaySummary[]): string =>
  played.length === 0
    ? 'not measured'
    : played.map(({ arm, retention }) => `${arm} ${estimateText(retention.forgetting)}`).join(', ');
