import { cutText } from '../../formats/plain-text.ts';
import type { AttemptTools } from '../suite.ts';

/** ToolRL's judge is asked in these words. */
const instruction = `You are a helpful assistant to help me judge if the answer for a specific query is correct or not. You will be given the query, the ground truth answer and the predicted answer. You should first think about if the predicted answer is semantically the same as the ground truth answer. If so give "Yes" in the field "Judgment", otherwise give "No".

**Output Format**
Your Response:
- Thought: <Your brief thoughts>
- Judgment: <Yes/No>
`;

/** Answers are names, dates and numbers: a judge reads no more of a long text. */
const MAX_JUDGED_CHARACTERS = 4_000;
/** A line that could pass for a part of the judge's prompt, or of its response. */
const headingOfPrompt =
  /^[^\p{L}\n]*(?:query|ground truth answer|predicted answer|output format|your response|thought|judgment)[ \t]*(?:[*:]|$)/imu;

/**
 * The judge's words on an answer; null if the evaluation names no judge, '' (unasked) for an empty answer.
 */
export async function askJudge(
  { judge }: AttemptTools,
  { question, gold, predicted }: { question: string; gold: string; predicted: string },
): Promise<string | null> {
  if (judge === null) return null;
  if (predicted === '') return '';
  const content = `**Query**\n${question}\n\n**Ground Truth Answer**\n${gold}\n\n**Predicted Answer**\n${judgedText(predicted)}\n\nYour Response:\n`;
  return (
    await judge({
      messages: [
        { role: 'system', content: instruction },
        { role: 'user', content },
      ],
    })
  ).text;
}

/**
 * The beginning of an answer. If it has a line like those of the prompt around it, all its lines are quoted with
 * `> `, so that the judge can tell them from the prompt's; any other answer stays as it was written.
 */
function judgedText(predicted: string): string {
  const shown = cutText(predicted, MAX_JUDGED_CHARACTERS);
  return headingOfPrompt.test(shown) ? shown.replace(/^/gm, '> ') : shown;
}

/** Whether a judgment says yes: its last `Judgment:` decides; anything else is a no. */
export function isJudgedCorrect(judgment: string): boolean {
  return [...judgment.matchAll(/Judgment:[^\p{L}\n]*(yes|no)\b/giu)].at(-1)?.[1]!.toLowerCase() === 'yes';
}
