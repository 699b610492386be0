/** Prompts that a model has no room for are answered, by completions without tokens that say so. */
import { PROMPT_TOO_LONG, PromptTooLong } from './policy-client.ts';
import type { Completion } from './policy-client.ts';

/** @returns undefined if the prompt was too long */
export async function undefinedIfTooLong<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof PromptTooLong) return undefined;
    throw error;
  }
}

/** A completion of which there is the text alone, or nothing because its prompt is too long. */
export const completionWithoutTokens = (
  prompt: number,
  sample: number,
  { text, finish_reason }: Pick<Completion, 'text' | 'finish_reason'> = {
    text: '',
    finish_reason: PROMPT_TOO_LONG,
  },
): Completion => ({
  prompt,
  sample,
  text,
  prompt_token_ids: [],
  token_ids: [],
  logprobs: [],
  finish_reason,
});
