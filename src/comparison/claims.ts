import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import { RESIDENCE } from '../report/findings.ts';
import { difference } from './arm-summary.ts';
import type { ArmSummary } from './arm-summary.ts';
import {
  above,
  atLeast,
  below,
  claimVerdict,
  firstOfEachPreset,
  hasSameAgentTraining,
  isMethod,
  metricText,
  replays,
} from './claim-rules.ts';
import type { CheckResult, Claim, ClaimEvidence } from './claim-rules.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import { differenceText, estimateText, valueText } from './over-seeds.ts';
import type { ProbeSummary } from './probes.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';

/** The claims, judged for one arm. */
export interface Claims {
  arm: string;
  rows: Claim[];
}

/**
 * What the method and its theory claim (GenEnv, 2512.19682), and whether it held in this comparison, for the
 * first arm of each preset.
 */
export const claimsOf = (facts: ClaimEvidence): Claims[] =>
  firstOfEachPreset(facts.experiments).map((arm) => {
    const main = facts.arms.find((one) => one.arm === arm)!;
    return {
      arm,
      rows: [...learningClaims(facts, main), ...measureClaims(facts, main), ...ablationClaims(facts, main)],
    };
  });

/** Claims that the runs themselves show: the band, the curriculum, the arms against each other. */
export function learningClaims({ arms, experiments }: ClaimEvidence, main: ArmSummary): Claim[] {
  const random = arms.find(({ arm }) => arm === main.control);
  const fixed = arms.find(({ type }) => type === 'static');
  const frozenAgent = arms.find(
    ({ arm }) => experiments[arm]!.arm.type === 'genenv' && experiments[arm]!.agent.training === null,
  );
  const stays = atLeast(main.figures.residence?.mean, RESIDENCE);
  return [
    {
      claim:
        'success settles in [0.4, 0.6]: at least 60 % of the second half, and more than with a frozen simulator',
      paper: '0.138 to 0.524, in the band from epoch 2 of 6 on; no control',
      ours: [
        ...metricText('in the band', main, 'residence'),
        ...metricText(`frozen simulator (${random?.arm})`, random, 'residence'),
        ...metricText(`frozen agent (${frozenAgent?.arm}), which learns nothing,`, frozenAgent, 'residence'),
      ].join('; '),
      verdict: claimVerdict([
        stays,
        random === undefined ? null : above(difference(main, random, 'residence')),
      ]),
    },
    {
      claim:
        'a curriculum emerges: difficulty and length of correct answers rise while success stays in the band',
      paper: 'tokens of an answer +49 %',
      ours: `since entering the band: difficulty ${estimateText(main.figures.difficultyRise, 'change')}, tokens of correct answers ${estimateText(main.figures.lengthRise, 'change')}`,
      verdict: claimVerdict([above(main.figures.difficultyRise), above(main.figures.lengthRise), stays]),
    },
    beats('Random', 'final score +12.3 % relative', main, random, true),
    beats(
      'Static',
      'final score +6.0 % relative',
      main,
      fixed,
      fixed !== undefined && hasSameAgentTraining(experiments[fixed.arm]!, experiments[main.arm]!),
    ),
    {
      claim: 'fewer tasks that always fail and more that always succeed than with Random, in the last third',
      paper: 'never solved −20.3 %, always solved +3.5 %',
      ours:
        random === undefined
          ? noneLike('Random')
          : `${random.arm === 'random' ? '' : `${random.arm}: `}never solved ${plainDifference(main, random, 'unsolvedEnd')}, always solved ${plainDifference(main, random, 'solvedEnd')}`,
      verdict: claimVerdict(
        random === undefined
          ? [null]
          : [sign(main, random, 'unsolvedEnd', -1), sign(main, random, 'solvedEnd', 1)],
      ),
    },
  ];
}

/**
 * @param alike whether the agents of both are trained in the same way: else what differs is not the
 * curriculum's alone
 */
function beats(
  name: string,
  paper: string,
  main: ArmSummary,
  other: ArmSummary | undefined,
  alike: boolean,
): Claim {
  const claim = `learns faster than ${name} at equal rollouts (area under the held-out curve)`;
  if (other === undefined) return { claim, paper, ours: noneLike(name), verdict: 'not measured' };
  const found = `area ${plainDifference(main, other, 'area')}; rollouts to the threshold ${plainDifference(main, other, 'rolloutsToThreshold')}; at the end ${plainDifference(main, other, 'finalHeldOut')}`;
  const against = [
    ...(other.arm === name.toLowerCase() && alike ? [] : [other.arm]),
    ...(alike ? [] : ['whose agent is trained in another way']),
  ].join(', ');
  return {
    claim,
    paper,
    ours: against === '' ? found : `${against}: ${found}`,
    verdict: claimVerdict([alike ? above(difference(main, other, 'area')) : null]),
  };
}

const noneLike = (name: string): string =>
  `no arm ${name.toLowerCase()}${name === 'Random' ? ' with the same agent' : ''}`;

const plainDifference = (arm: ArmSummary, other: ArmSummary, figure: RunMetricName): string =>
  differenceText(difference(arm, other, figure), runMetrics[figure].unit).replaceAll('**', '');

/** The direction of a mean difference alone. */
function sign(arm: ArmSummary, other: ArmSummary, figure: RunMetricName, wanted: 1 | -1): CheckResult {
  const found = difference(arm, other, figure);
  return found === null ? null : Math.sign(found.mean) === wanted;
}

/** R² from which on the signal counts as following p(1-p). */
export const FOLLOWS = 0.8;
/** Success that may be lost on an epoch's tasks. */
export const FORGETTING = 0.02;

/** Claims that policies of finished runs show: cross-play and probes. */
export function measureClaims({ experiments, crossPlay, probes }: ClaimEvidence, main: ArmSummary): Claim[] {
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
  verdict: claimVerdict(
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
    verdict: claimVerdict([atLeast(signal?.r2, FOLLOWS), inBand]),
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
    verdict: claimVerdict(rows.length < 2 ? [null] : [falls, within]),
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
  const kept = ({ retention: { forgetting } }: CrossPlaySummary): CheckResult =>
    forgetting === null ? null : forgetting.mean <= FORGETTING;
  // Where nothing is lost without replay, keeping it all says nothing of replay.
  const tested = without.some((one) => kept(one) === false);
  return {
    claim: `with replay from the pool at most ${FORGETTING} of success on earlier epochs' tasks is lost, and more without`,
    paper: 'stated, not measured',
    ours: `forgetting with replay: ${text(withPool)}; without: ${text(without)}${tested || without.length === 0 ? '' : ', so that nothing puts replay to the test'}`,
    verdict: claimVerdict(withPool.length === 0 ? [null] : [...withPool.map(kept), tested || null]),
  };
}

/** Claims about single settings of the method: arms that differ from the main one in nothing else. */
export function ablationClaims({ arms, experiments }: ClaimEvidence, main: ArmSummary): Claim[] {
  const base = experiments[main.arm]!;
  const variants = (fields: (of: Experiment) => Experiment) =>
    arms.filter(
      ({ arm }) => changedFields(withoutName(fields(experiments[arm]!)), withoutName(fields(base))) === '',
    );
  const targets = variants((of) => ({ ...of, difficulty: { ...of.difficulty, alpha: 0 } }));
  const updates = variants((of) => ({
    ...of,
    filter: { type: 'off' },
    environment: {
      ...of.environment,
      training: of.environment.training && { ...of.environment.training, lambda: 0 },
    },
  }));
  return [
    ...targetClaim(targets, ({ arm }) => experiments[arm]!.difficulty.alpha),
    ...weightsClaim(updates, ({ arm }) => experiments[arm]!),
  ];
}

const withoutName = (of: Experiment): object => ({ ...of, name: '' });
const areaOf = ({ figures }: ArmSummary): number => figures.area?.mean ?? 0;
const text = (name: string, arm: ArmSummary): string => `${name} ${estimateText(arm.figures.area)}`;

function* targetClaim(arms: readonly ArmSummary[], alphaOf: (arm: ArmSummary) => number): Generator<Claim> {
  const sorted = arms.toSorted((one, other) => alphaOf(one) - alphaOf(other));
  const half = sorted.find((arm) => alphaOf(arm) === 0.5);
  if (half === undefined || sorted.length < 3) return;
  const ends = [sorted[0]!, sorted.at(-1)!].filter((arm) => arm !== half);
  yield {
    claim: 'α = 0.5 is right: the largest area under the held-out curve, and more than at both ends',
    paper: 'argued from p(1-p), not measured',
    ours: sorted.map((arm) => text(`α ${alphaOf(arm)}:`, arm)).join('; '),
    verdict: claimVerdict([
      sorted.every((arm) => areaOf(arm) <= areaOf(half)),
      ...ends.map((end) => above(difference(half, end, 'area'))),
    ]),
  };
}

function* weightsClaim(
  arms: readonly ArmSummary[],
  experimentOf: (arm: ArmSummary) => Experiment,
): Generator<Claim> {
  const find = (filters: boolean, weighs: boolean) =>
    arms.find(
      (arm) =>
        (experimentOf(arm).filter.type !== 'off') === filters &&
        experimentOf(arm).environment.training!.lambda > 0 === weighs,
    );
  const [filter, weights, both] = [find(true, false), find(false, true), find(true, true)];
  if (filter === undefined || weights === undefined || both === undefined) return;
  yield {
    claim: 'the filter and the weights are both needed: neither alone has more area under the held-out curve',
    paper: 'both are used, not measured',
    ours: [text('filter alone', filter), text('weights alone', weights), text('both', both)].join('; '),
    verdict: claimVerdict(
      [filter, weights].map((alone) =>
        areaOf(alone) > areaOf(both) ? false : below(difference(alone, both, 'area')),
      ),
    ),
  };
}
