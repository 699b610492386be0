import { RESIDENCE } from '../report/verdict.ts';
import { difference } from './arm-summary.ts';
import type { ArmSummary } from './arm-summary.ts';
import { trainAlike } from './arms.ts';
import { above, atLeast, figureText, verdictOf } from './claim.ts';
import type { Claim, Facts, Finding } from './claim.ts';
import { differenceText, estimateText } from './estimate-text.ts';
import { figures } from './figures.ts';
import type { FigureName } from './figures.ts';

/** Claims that the runs themselves show: the band, the curriculum, the arms against each other. */
export function learningClaims({ arms, experiments }: Facts, main: ArmSummary): Claim[] {
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
        ...figureText('in the band', main, 'residence'),
        ...figureText(`frozen simulator (${random?.arm})`, random, 'residence'),
        ...figureText(`frozen agent (${frozenAgent?.arm}), which learns nothing,`, frozenAgent, 'residence'),
      ].join('; '),
      verdict: verdictOf([stays, random === undefined ? null : above(difference(main, random, 'residence'))]),
    },
    {
      claim:
        'a curriculum emerges: difficulty and length of correct answers rise while success stays in the band',
      paper: 'tokens of an answer +49 %',
      ours: `since entering the band: difficulty ${estimateText(main.figures.difficultyRise, 'change')}, tokens of correct answers ${estimateText(main.figures.lengthRise, 'change')}`,
      verdict: verdictOf([above(main.figures.difficultyRise), above(main.figures.lengthRise), stays]),
    },
    beats('Random', 'final score +12.3 % relative', main, random, true),
    beats(
      'Static',
      'final score +6.0 % relative',
      main,
      fixed,
      fixed !== undefined && trainAlike(experiments[fixed.arm]!, experiments[main.arm]!),
    ),
    {
      claim: 'fewer tasks that always fail and more that always succeed than with Random, in the last third',
      paper: 'never solved −20.3 %, always solved +3.5 %',
      ours:
        random === undefined
          ? noneLike('Random')
          : `${random.arm === 'random' ? '' : `${random.arm}: `}never solved ${plainDifference(main, random, 'unsolvedEnd')}, always solved ${plainDifference(main, random, 'solvedEnd')}`,
      verdict: verdictOf(
        random === undefined
          ? [null]
          : [sign(main, random, 'unsolvedEnd', -1), sign(main, random, 'solvedEnd', 1)],
      ),
    },
  ];
}

/** @param alike whether the agents of both are trained in the same way: else what differs is not the curriculum's alone */
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
    verdict: verdictOf([alike ? above(difference(main, other, 'area')) : null]),
  };
}

const noneLike = (name: string): string =>
  `no arm ${name.toLowerCase()}${name === 'Random' ? ' with the same agent' : ''}`;

const plainDifference = (arm: ArmSummary, other: ArmSummary, figure: FigureName): string =>
  differenceText(difference(arm, other, figure), figures[figure].unit).replaceAll('**', '');

/** The direction of a mean difference alone. */
function sign(arm: ArmSummary, other: ArmSummary, figure: FigureName, wanted: 1 | -1): Finding {
  const found = difference(arm, other, figure);
  return found === null ? null : Math.sign(found.mean) === wanted;
}
