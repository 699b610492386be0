import type { Answer, Message, Question, ToolSpec } from '../../formats/chat-messages.ts';
import { stripReasoning } from '../../formats/toolrl.ts';
import type { AttemptTools } from '../suite.ts';
import type { BfclCase, BfclEngine, LastTurn, RecordedAnswer, Step, TurnCalls } from './engine.ts';

export interface BfclResponse {
  turns: TurnCalls;
}

/**
 * Answers with calls that a turn may have before the official handler gives up: it stops after this many and
 * one more.
 */
const mostSteps = 20;

/** One question, one answer. */
export async function singleTurn(item: BfclCase, tools: AttemptTools): Promise<BfclResponse> {
  const { messages, tools: given } = item.turns[0]!;
  return { turns: [[recorded(await tools.ask(question(messages, given)))]] };
}

/** The official loop: in each turn the model is asked, and its calls run, until it calls nothing. */
export async function episode(
  engine: BfclEngine,
  item: BfclCase,
  tools: AttemptTools,
): Promise<BfclResponse> {
  const turns: RecordedAnswer[][] = [];
  const messages: Message[] = [];
  let given: readonly ToolSpec[] | null = null;
  for (const said of item.turns) {
    messages.push(...said.messages);
    given = said.tools ?? given;
    turns.push([]);
    const ended = await turn({
      engine,
      item,
      tools,
      messages,
      given,
      before: turns.slice(0, -1),
      answers: turns.at(-1)!,
    });
    // Fewer turns than the truth has: the official judge calls it forced to quit.
    if (!ended) break;
  }
  return { turns };
}

/** Each turn on its own, after the truth's own calls in the turns before it. */
export async function independentTurns(
  engine: BfclEngine,
  item: BfclCase,
  tools: AttemptTools,
): Promise<BfclResponse> {
  const turns: RecordedAnswer[][] = [];
  const history: Message[] = [];
  let given: readonly ToolSpec[] | null = null;
  for (const [index, said] of item.turns.entries()) {
    history.push(...said.messages);
    given = said.tools ?? given;
    turns.push([]);
    await turn({
      engine,
      item,
      tools,
      messages: [...history],
      given,
      before: item.gold.slice(0, index),
      answers: turns.at(-1)!,
    });
    history.push(...(await goldMessages(engine, item, index, tools)));
  }
  return { turns };
}

interface TurnInput {
  engine: BfclEngine;
  item: BfclCase;
  tools: AttemptTools;
  /** The conversation, which the turn continues. */
  messages: Message[];
  given: readonly ToolSpec[] | null;
  before: TurnCalls;
  /** Filled by the turn. */
  answers: RecordedAnswer[];
}

/**
 * Whether the turn ended by itself, rather than by too many steps, by calls that cannot be run or by a
 * question that cannot be read.
 */
async function turn({ engine, item, tools, messages, given, before, answers }: TurnInput): Promise<boolean> {
  while (answers.length <= mostSteps) {
    const answer = await tools.ask(question(messages, given));
    answers.push(recorded(answer));
    // Every later question of the conversation holds this one.
    if (answer.finish_reason === 'prompt_too_long') return false;
    messages.push(said(answer.text, answer.toolCalls));
    // Kept, since a limit on time may strike once and not again.
    const done = await tools.once(async (signal) =>
      lastStep(await engine.lastTurn(item.id, [...before, answers], signal)),
    );
    if (done.error !== null) return false;
    if (done.step === null) {
      messages.push(...unread(answer.toolCalls));
      return true;
    }
    messages.push(...outcome(answer.toolCalls, done.step));
  }
  return false;
}

function lastStep(done: LastTurn): { error: string | null; step: Step | null } {
  return { error: done.error, step: done.ran === null || done.ran.ended ? null : done.ran.steps.at(-1)! };
}

async function goldMessages(
  engine: BfclEngine,
  item: BfclCase,
  index: number,
  tools: AttemptTools,
): Promise<Message[]> {
  const { ran, error } = await tools.once((signal) =>
    engine.lastTurn(item.id, item.gold.slice(0, index + 1), signal),
  );
  if (ran === null) throw new Error(`bfcl ${item.id}: the truth of turn ${index} did not run: ${error}`);
  return item.gold[index]!.flatMap((answer, step) => {
    const toolCalls = answer.toolCalls.map((call, position) => ({
      ...call,
      id: `call_${index}_${step}_${position}`,
    }));
    const done = ran.steps[step];
    return [said(answer.text, toolCalls), ...(done === undefined ? [] : outcome(toolCalls, done))];
  });
}

const recorded = ({ text, toolCalls, finish_reason: reason }: Answer): RecordedAnswer => ({
  text,
  toolCalls: toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
  ...(reason === 'prompt_too_long' && { unread: true }),
});

const question = (messages: readonly Message[], tools: readonly ToolSpec[] | null): Question => ({
  messages: [...messages],
  ...(tools !== null && { tools }),
});

/** As the official handlers of reasoning models: what was thought is not said again. */
function said(text: string, toolCalls: Answer['toolCalls']): Message {
  const content = stripReasoning(text).replace(/^\n+/, '');
  return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) };
}

/** Servers want an answer to every call in a conversation, to those too that nobody could read. */
const unread = (toolCalls: Answer['toolCalls']): Message[] =>
  toolCalls.map(({ id }) => ({ role: 'tool', toolCallId: id, content: 'The call could not be read.' }));

/**
 * To calls that came natively an answer each; to calls in a text one message, as the official handlers have
 * both.
 */
function outcome(toolCalls: Answer['toolCalls'], { results, feedback }: Step): Message[] {
  if (toolCalls.length === 0) return [{ role: 'user', content: feedback }];
  return toolCalls.map(({ id }, index) => ({ role: 'tool', toolCallId: id, content: results[index] ?? '' }));
}
