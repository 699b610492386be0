import { RESIDENCE } from '../report/findings.ts';
import { ablationClaims } from './ablation-claims.ts';
import { estimateDifference } from './arm-summary.ts';
import type { ArmSummary } from './arm-summary.ts';
import {
  claimVerdict,
  firstArmOfEachPreset,
  hasSameAgentTraining,
  hasSign,
  isAbove,
  metricText,
} from './claim-rules.ts';
import type { Claim, ClaimEvidence } from './claim-rules.ts';
import { measureClaims } from './measure-claims.ts';
import { metricCell } from './metric-cell.ts';
import { NEAR_CAP, runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { differenceText } from './seed-estimates.ts';
import { teachingClaims } from './teaching.ts';

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
  const staysInBand = isAbove(main.figures.residence, RESIDENCE);
  return [
    {
      claim:
        'success settles in [0.4, 0.6]: at least 60 % of the second half, and more than with a frozen simulator',
      paper: '0.138 to 0.524, in the band from epoch 2 of 6 on; no control',
      ours: [
        ...metricText('in the band', main, 'residence'),
        ...metricText(`frozen simulator (${random?.arm})`, random, 'residence'),
        ...metricText(`frozen agent (${frozenAgent?.arm}), which learns nothing,`, frozenAgent, 'residence'),
        ...capTexts(frozenAgent),
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
        `since entering the band: difficulty ${metricCell(main, 'difficultyRise')}, ` +
          `tokens of correct answers ${metricCell(main, 'lengthRise')}`,
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

/** Whether the cap of its KL kept a simulator from α: near it the simulator is pulled back, whatever the agent does. */
function capTexts(arm: ArmSummary | undefined): string[] {
  const share = arm?.figures.simulatorKlAtCap?.mean ?? null;
  if (share === null) return [];
  const bound = `its simulator’s KL is at ${100 * NEAR_CAP} % of its cap or more in ${(100 * share).toFixed(0)} % of epochs`;
  return [share >= 0.1 ? `${bound}, so that it may not be free to reach the band` : bound];
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
