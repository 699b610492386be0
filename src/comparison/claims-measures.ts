import type { ArmSummary } from './arm-summary.ts';
import { above, atLeast, below, isMethod, replays, verdictOf } from './claim.ts';
import type { Claim, Facts, Finding } from './claim.ts';
import type { CrossPlaySummary } from './cross-play-summary.ts';
import { estimateText, valueText } from './estimate-text.ts';
import type { ProbeSummary } from './probe-summary.ts';

/** R² from which on the signal counts as following p(1-p). */
export const FOLLOWS = 0.8;
/** Success that may be lost on an epoch's tasks. */
export const FORGETTING = 0.02;

/** Claims that policies of finished runs show: cross-play and probes. */
export function measureClaims({ experiments, crossPlay, probes }: Facts, main: ArmSummary): Claim[] {
  const played = crossPlay.filter(({ arm }) => isMethod(experiments[arm]!));
  const own = played.find(({ arm }) => arm === main.arm);
  const probed = probes.find(({ arm }) => arm === main.arm);
  return [
    crossPlayClaim(own),
    gradientClaim(probed),
    rankingClaim(probed),
    retentionClaim(played, (arm) => replays(experiments[arm]!)),
  ];
}

const crossPlayClaim = (played: CrossPlaySummary | undefined): Claim => ({
  claim: 'both sides move: in cross-play success falls along the simulators and rises along the agents',
  paper: 'not in the paper (SPICE 2510.24684: 55 to 35 %, 55 to 85 %)',
  ours:
    played === undefined
      ? 'no cross-play'
      : `${played.arm}: rank correlation with the epoch ${estimateText(played.trends.simulator)} along simulators, ${estimateText(played.trends.agent)} along agents`,
  verdict: verdictOf(
    played === undefined ? [null] : [below(played.trends.simulator), above(played.trends.agent)],
  ),
});

function gradientClaim(probed: ProbeSummary | undefined): Claim {
  const signal = probed?.signal ?? null;
  const inBand = signal === null ? null : signal.peak.low >= 0.4 - 1e-9 && signal.peak.high <= 0.6 + 1e-9;
  return {
    claim: 'the gradient signal follows p(1-p), and is largest for p in [0.4, 0.6]',
    paper: 'Proposition 1, not measured',
    ours:
      signal === null
        ? 'no gradients'
        : `R² ${valueText(signal.r2)}, largest in [${signal.peak.low.toFixed(1)}, ${signal.peak.high.toFixed(1)}]`,
    verdict: verdictOf([atLeast(signal?.r2, FOLLOWS), inBand]),
  };
}

function rankingClaim(probed: ProbeSummary | undefined): Claim {
  const rows = probed?.ranking ?? [];
  const falls = rows.every(({ measured }, index) => index === 0 || measured < rows[index - 1]!.measured);
  const within = rows.every(
    ({ measured, low, high, bound }) => measured >= low && measured <= high && measured <= bound,
  );
  return {
    claim:
      'n attempts rank tasks by R_env ever more surely: mis-ranking falls with n, as binomials say and below Theorem 1',
    paper: 'Theorem 1, not measured',
    ours:
      rows.length === 0
        ? 'no pairs'
        : rows
            .map(
              ({ n, measured, expected }) =>
                `n = ${n}: ${valueText(measured)} (expected ${valueText(expected)})`,
            )
            .join('; '),
    verdict: verdictOf(rows.length < 2 ? [null] : [falls, within]),
  };
}

function retentionClaim(played: readonly CrossPlaySummary[], replayed: (arm: string) => boolean): Claim {
  const text = (of: readonly CrossPlaySummary[]): string =>
    of.length === 0
      ? 'not measured'
      : of.map(({ arm, retention }) => `${arm} ${estimateText(retention.forgetting)}`).join(', ');
  const [withPool, without] = [
    played.filter(({ arm }) => replayed(arm)),
    played.filter(({ arm }) => !replayed(arm)),
  ];
  const kept = ({ retention: { forgetting } }: CrossPlaySummary): Finding =>
    forgetting === null ? null : forgetting.mean <= FORGETTING;
  // Where nothing is lost without replay, keeping it all says nothing of replay.
  const tested = without.some((one) => kept(one) === false);
  return {
    claim: `with replay from the pool at most ${FORGETTING} of success on earlier epochs' tasks is lost, and more without`,
    paper: 'stated, not measured',
    ours: `forgetting with replay: ${text(withPool)}; without: ${text(without)}${tested || without.length === 0 ? '' : ', so that nothing puts replay to the test'}`,
    verdict: verdictOf(withPool.length === 0 ? [null] : [...withPool.map(kept), tested || null]),
  };
}
