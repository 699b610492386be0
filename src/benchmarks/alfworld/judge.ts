import type { CaseVerdict } from '../suite.ts';
import { mostSteps } from './attempts.ts';
import type { Response } from './attempts.ts';
import { normalised } from './command.ts';
import type { AlfworldEngine } from './engine.ts';
import type { AlfworldCase, TaskType } from './games.ts';

/** What a verdict on an episode keeps beside its score. */
export interface EpisodeDetail {
  taskType: TaskType;
  /** Commands until the win, or all that count. */
  steps: number;
}

/**
 * Won within 50 commands, played anew from the beginning.
 * @param reading what is played for a command; as it stands, where the official game's own strictness is wanted
 */
export async function episodeVerdict(
  engine: AlfworldEngine,
  { file, taskType }: AlfworldCase,
  { commands, tooLong }: Response,
  signal: AbortSignal,
  reading: (command: string) => string = normalised,
): Promise<CaseVerdict> {
  const { won, steps } = await engine.replay(file, commands.slice(0, mostSteps).map(reading), signal);
  const detail: EpisodeDetail = { taskType, steps };
  return {
    correct: won,
    scores: { success: won ? 1 : 0 },
    reason: won ? null : tooLong ? 'prompt_too_long' : steps === mostSteps ? 'out_of_steps' : 'not_won',
    detail,
  };
}

/** Every step of the walkthrough chosen as it stands there; `detail` says which were. */
export function stepsVerdict({ walkthrough }: AlfworldCase, { commands, tooLong }: Response): CaseVerdict {
  const detail = (walkthrough ?? []).map(
    (right, index) => commands[index] !== undefined && normalised(commands[index]) === normalised(right),
  );
  const matching = detail.filter(Boolean).length;
  const correct = detail.length > 0 && matching === detail.length;
  return {
    correct,
    scores: { step_match: detail.length === 0 ? null : matching / detail.length },
    reason: correct
      ? null
      : detail.length === 0
        ? 'no_walkthrough'
        : tooLong
          ? 'prompt_too_long'
          : 'other_command',
    detail,
  };
}
