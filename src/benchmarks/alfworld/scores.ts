import { rateScore } from '../score.ts';
import type { CaseVerdict, Score } from '../suite.ts';
import { taskTypes } from './games.ts';
import type { EpisodeDetail } from './judge.ts';
import type { Split } from './splits.ts';

type Verdicts = readonly { verdict: CaseVerdict }[];

/** Games won out of all, and out of those of each kind. */
export function successRates({ name, note }: Split, setting: string, verdicts: Verdicts): Score[] {
  const rate = (of: Verdicts, kind: string): Score =>
    rateScore(
      `alfworld_${name}_success_${kind}${setting}`,
      of.filter(({ verdict }) => verdict.correct).length,
      of.length,
      note,
    );
  const ofType = (type: string): Verdicts =>
    verdicts.filter(({ verdict }) => (verdict.detail as EpisodeDetail).taskType === type);
  return [
    rate(verdicts, ''),
    ...taskTypes.filter((type) => ofType(type).length > 0).map((type) => rate(ofType(type), `${type}_`)),
  ];
}

const guess =
  'steps whose command is the walkthrough\'s, each after the walkthrough up to there; our guess at the "by step" of GenEnv\'s paper, which says no more; other orders of a task count as wrong, and steps of a game are not independent';

/** Steps chosen as in the walkthrough, out of all steps. */
export function stepMatch({ name, note }: Split, verdicts: Verdicts): Score[] {
  const steps = verdicts.flatMap(({ verdict }) => verdict.detail as boolean[]);
  return [
    rateScore(
      `alfworld_${name}_genenv_by_step`,
      steps.filter(Boolean).length,
      steps.length,
      [...(note === undefined ? [] : [note]), guess].join('; '),
    ),
  ];
}
