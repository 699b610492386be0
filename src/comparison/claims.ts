import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import { RESIDENCE } from '../report/findings.ts';
import { estimateDifference } from './arm-summary.ts';
import type { ArmSummary } from './arm-summary.ts';
import {
  claimVerdict,
  firstArmOfEachPreset,
  hasReplay,
  hasSameAgentTraining,
  hasSign,
  isAbove,
  isAtLeast,
  isBelow,
  isMethod,
  metricText,
} from './claim-rules.ts';
import type { CheckResult, Claim, ClaimEvidence } from './claim-rules.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import type { ProbeSummary } from './probes.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { differenceText, estimateText, valueText } from './seed-estimates.ts';
import { teachingClaims } from './teaching.ts';
import type { Misranking } from './theory/ranking.ts';

/** The claims, judged for one arm. */
export interface Claims {
  arm: string;
  rows: Claim[];
}

/**
 * What the method and its theory claim (GenEnv, 2512.19682), and whether it held in this comparison, for the
 * first arm of each preset, and for each set of arms that differ in the success of their tasks.
 */
export const judgeClaims = (evidence: ClaimEvidence): Claims[] => [
  ...firstArmOfEachPreset(evidence.experiments).map((name) => {
    const main = evidence.arms.find(({ arm }) => arm === name)!;
    const rows = [
      ...learningClaims(evidence, main),
      ...measureClaims(evidence, main),
      ...ablationClaims(evidence, main),
    ];
    return { arm: name, rows };
  }),
  ...teachingClaims(evidence),
];

/** Claims judged by the runs themselves: the band, the curriculum, the arms against each other. */
export function learningClaims({ arms, experiments }: ClaimEvidence, main: ArmSummary): Claim[] {
  const random = arms.find(({ arm }) => arm === main.control);
  const fixed = arms.find(({ type }) => type === 'static');
  const frozenAgent = arms.find(
    ({ arm }) => experiments[arm]!.arm.type === 'genenv' && experiments[arm]!.agent.training === null,
  );
  const staysInBand = isAtLeast(main.figures.residence?.mean, RESIDENCE);
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
        staysInBand,
        random === undefined ? null : isAbove(estimateDifference(main, random, 'residence')),
      ]),
    },
    {
      claim:
        'a curriculum emerges: difficulty and length of correct answers rise while success stays in the band, ' +
        'and that length more than with a frozen simulator',
      paper: 'tokens of an answer +49 %',
      ours: [
        `since entering the band: difficulty ${estimateText(main.figures.difficultyRise, 'change')}, ` +
          `tokens of correct answers ${estimateText(main.figures.lengthRise, 'change')}`,
        ...[main, random].flatMap((arm) =>
          metricText(`tokens over the run (${arm?.arm})`, arm, 'lengthGain'),
        ),
      ].join('; '),
      verdict: claimVerdict([
        isAbove(main.figures.difficultyRise),
        isAbove(main.figures.lengthRise),
        staysInBand,
        random === undefined ? null : isAbove(estimateDifference(main, random, 'lengthGain')),
      ]),
    },
    fasterLearningClaim(main, {
      name: 'Random',
      paper: 'final score +12.3 % relative',
      arm: random,
      hasSameAgent: true,
    }),
    fasterLearningClaim(main, {
      name: 'Static',
      paper: 'final score +6.0 % relative',
      arm: fixed,
      hasSameAgent:
        fixed !== undefined && hasSameAgentTraining(experiments[fixed.arm]!, experiments[main.arm]!),
    }),
    {
      claim: 'fewer tasks that always fail and more that always succeed than with Random, in the last third',
      paper: 'never solved −20.3 %, always solved +3.5 %',
      ours:
        random === undefined
          ? noArmText('Random')
          : `${random.arm === 'random' ? '' : `${random.arm}: `}never solved ` +
            `${plainDifferenceText(main, random, 'unsolvedEnd')}, always solved ` +
            plainDifferenceText(main, random, 'solvedEnd'),
      verdict: claimVerdict(
        random === undefined
          ? [null]
          : [
              hasSign(estimateDifference(main, random, 'unsolvedEnd'), -1),
              hasSign(estimateDifference(main, random, 'solvedEnd'), 1),
            ],
      ),
    },
  ];
}

interface Rival {
  name: string;
  /** The paper's figure. */
  paper: string;
  arm: ArmSummary | undefined;
  /** Whether the agents of both are trained in the same way: else more than the curriculum differs. */
  hasSameAgent: boolean;
}

function fasterLearningClaim(main: ArmSummary, { name, paper, arm, hasSameAgent }: Rival): Claim {
  const claim = `learns faster than ${name} at equal rollouts (area under the held-out curve)`;
  if (arm === undefined) return { claim, paper, ours: noArmText(name), verdict: 'not measured' };
  const differences = [
    `area ${plainDifferenceText(main, arm, 'area')}`,
    `rollouts to the threshold ${plainDifferenceText(main, arm, 'rolloutsToThreshold')}`,
    `at the end ${plainDifferenceText(main, arm, 'finalHeldOut')}`,
  ].join('; ');
  const rivalText = [
    ...(arm.arm === name.toLowerCase() && hasSameAgent ? [] : [arm.arm]),
    ...(hasSameAgent ? [] : ['whose agent is trained in another way']),
  ].join(', ');
  return {
    claim,
    paper,
    ours: rivalText === '' ? differences : `${rivalText}: ${differences}`,
    verdict: claimVerdict([hasSameAgent ? isAbove(estimateDifference(main, arm, 'area')) : null]),
  };
}

const noArmText = (name: string): string =>
  `no arm ${name.toLowerCase()}${name === 'Random' ? ' with the same agent' : ''}`;

const plainDifferenceText = (arm: ArmSummary, reference: ArmSummary, metric: RunMetricName): string =>
  differenceText(estimateDifference(arm, reference, metric), runMetrics[metric].unit).replaceAll('**', '');

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
  const signal = probed?.signal ?? null;
  const inBand = signal === null ? null : signal.peak.low >= 0.4 - 1e-9 && signal.peak.high <= 0.6 + 1e-9;
  return {
    claim: 'the gradient signal follows p(1-p), and is largest for p in [0.4, 0.6]',
    paper: 'Proposition 1, not measured',
    ours:
      signal === null
        ? 'no gradients'
        : `R² ${valueText(signal.r2)}, largest in [${signal.peak.low.toFixed(1)}, ${signal.peak.high.toFixed(1)}]`,
    verdict: claimVerdict([isAtLeast(signal?.r2, MIN_R2), inBand]),
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
  const ends = [sorted[0]!, sorted.at(-1)!].filter((arm) => arm !== half);
  yield {
    claim: 'α = 0.5 is right: the largest area under the held-out curve, and more than at both ends',
    paper: 'argued from p(1-p), not measured',
    ours: sorted.map((arm) => areaText(`α ${alphaOf(arm)}:`, arm)).join('; '),
    verdict: claimVerdict([
      sorted.every((arm) => areaOf(arm) <= areaOf(half)),
      ...ends.map((end) => isAbove(estimateDifference(half, end, 'area'))),
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
    verdict: claimVerdict(
      [filter, weights].map((alone) =>
        areaOf(alone) > areaOf(both) ? false : isBelow(estimateDifference(alone, both, 'area')),
      ),
    ),
  };
}
