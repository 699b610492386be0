import type { AttemptTools } from '../suite.ts';
import { Conversation, normalizeCommand, parseCommand } from './conversation.ts';
import type { Listing } from './conversation.ts';
import type { AlfworldEngine } from './engine.ts';
import type { AlfworldCase } from './games.ts';

/** The official limit on commands of an episode. */
export const MAX_STEPS = 50;

export interface EpisodeResponse {
  /** What the model chose in each step, one line each, as it wrote it. */
  commands: readonly string[];
  /** Whether the conversation became too long for the policy. */
  tooLong: boolean;
}

/** Plays until the game is won, or its steps are used up. */
export async function playEpisode(
  engine: AlfworldEngine,
  item: AlfworldCase,
  listing: Listing,
  tools: AttemptTools,
): Promise<EpisodeResponse> {
  await using episode = await engine.begin(item.file, tools.signal);
  const conversation = new Conversation(listing, episode.state);
  const commands: string[] = [];
  while (commands.length < MAX_STEPS && !episode.state.won) {
    const command = await askCommand(conversation, tools);
    if (command === null) return { commands, tooLong: true };
    commands.push(command);
    conversation.append(command, await episode.step(normalizeCommand(command)));
  }
  return { commands, tooLong: false };
}

/**
 * Asks for the next command in every state of the walkthrough, which continues regardless of the model's
 * choice.
 */
export async function followWalkthrough(
  engine: AlfworldEngine,
  item: AlfworldCase,
  listing: Listing,
  tools: AttemptTools,
): Promise<EpisodeResponse> {
  await using episode = await engine.begin(item.file, tools.signal);
  const conversation = new Conversation(listing, episode.state);
  const commands: string[] = [];
  for (const gold of item.walkthrough ?? []) {
    const command = await askCommand(conversation, tools);
    if (command === null) return { commands, tooLong: true };
    commands.push(command);
    conversation.append(gold, await episode.step(gold));
  }
  return { commands, tooLong: false };
}

/** The model's next command; null if the conversation is too long for it. */
async function askCommand(conversation: Conversation, { ask }: AttemptTools): Promise<string | null> {
  const { text, finish_reason: reason } = await ask({ messages: conversation.messages() });
  return reason === 'prompt_too_long' ? null : parseCommand(text);
}
