import { rateScore } from '../suite.ts';
import type { CaseVerdict, Score } from '../suite.ts';
import { normalizeCommand } from './conversation.ts';
import type { AlfworldEngine } from './engine.ts';
import { MAX_STEPS } from './episodes.ts';
import type { EpisodeResponse } from './episodes.ts';
import { taskTypes } from './games.ts';
import type { AlfworldCase, AlfworldSplit, TaskType } from './games.ts';

/** What a verdict on an episode keeps in addition to its score. */
export interface EpisodeDetail {
  taskType: TaskType;
  /** Commands until the win, or all that count. */
  steps: number;
}

/**
 * Whether the commands win within 50 steps, replayed from the beginning: as `normalizeCommand` writes them, and,
 * for `strict`, as the model wrote them, which is what the game itself takes.
 */
export async function episodeVerdict(
  engine: AlfworldEngine,
  { file, taskType }: AlfworldCase,
  { commands, tooLong }: EpisodeResponse,
  signal: AbortSignal,
): Promise<CaseVerdict> {
  const written = commands.slice(0, MAX_STEPS);
  const played = written.map(normalizeCommand);
  const { won, steps } = await engine.replay(file, played, signal);
  const isAsWritten = played.every((command, step) => command === written[step]);
  const strict = isAsWritten ? won : (await engine.replay(file, written, signal)).won;
  const detail: EpisodeDetail = { taskType, steps };
  return {
    correct: won,
    scores: { success: Number(won), strict: Number(strict) },
    reason: won ? null : lossReason(tooLong, steps),
    detail,
  };
}

function lossReason(tooLong: boolean, steps: number): string {
  if (tooLong) return 'prompt_too_long';
  return steps === MAX_STEPS ? 'out_of_steps' : 'not_won';
}

/** Correct if every step of the walkthrough was chosen; `detail` says which were. */
export function stepsVerdict(
  { walkthrough }: AlfworldCase,
  { commands, tooLong }: EpisodeResponse,
): CaseVerdict {
  const detail = (walkthrough ?? []).map(
    (gold, index) =>
      commands[index] !== undefined && normalizeCommand(commands[index]) === normalizeCommand(gold),
  );
  const matching = detail.filter(Boolean).length;
  const correct = detail.length > 0 && matching === detail.length;
  return {
    correct,
    scores: { step_match: detail.length === 0 ? null : matching / detail.length },
    reason: correct ? null : mismatchReason(detail.length, tooLong),
    detail,
  };
}

function mismatchReason(steps: number, tooLong: boolean): string {
  if (steps === 0) return 'no_walkthrough';
  return tooLong ? 'prompt_too_long' : 'other_command';
}

type Verdicts = readonly { verdict: CaseVerdict }[];

const strictNote =
  'commands as the model wrote them; the figure without `strict` forgives case, marks and old wording';

/** Games won out of all, those won by the commands as they were written, and out of those of each kind. */
export function successRates({ name, note }: AlfworldSplit, setting: string, verdicts: Verdicts): Score[] {
  const rate = (games: Verdicts, kind: string): Score =>
    rateScore(
      `alfworld_${name}_success_${kind}${setting}`,
      games.filter(({ verdict }) => verdict.correct).length,
      games.length,
      note,
    );
  const strict = rateScore(
    `alfworld_${name}_success_strict_${setting}`,
    verdicts.filter(({ verdict }) => verdict.scores.strict === 1).length,
    verdicts.length,
    [...(note === undefined ? [] : [note]), strictNote].join('; '),
  );
  const gamesOfType = (type: string): Verdicts =>
    verdicts.filter(({ verdict }) => (verdict.detail as EpisodeDetail).taskType === type);
  return [
    rate(verdicts, ''),
    strict,
    ...taskTypes
      .filter((type) => gamesOfType(type).length > 0)
      .map((type) => rate(gamesOfType(type), `${type}_`)),
  ];
}

const byStepNote =
  'steps whose command is the walkthrough\'s, each after the walkthrough up to there; our guess at the "by step" of GenEnv\'s paper, which says no more; other orders of a task count as wrong, and steps of a game are not independent';

/** Steps chosen as in the walkthrough, out of all steps. */
export function stepMatch({ name, note }: AlfworldSplit, verdicts: Verdicts): Score[] {
  const steps = verdicts.flatMap(({ verdict }) => verdict.detail as boolean[]);
  return [
    rateScore(
      `alfworld_${name}_genenv_by_step`,
      steps.filter(Boolean).length,
      steps.length,
      [...(note === undefined ? [] : [note]), byStepNote].join('; '),
    ),
  ];
}
