import type { Answer, Message, Question, ToolSpec } from '../../formats/chat-messages.ts';
import { stripReasoning } from '../../formats/toolrl.ts';
import type { AttemptTools } from '../suite.ts';
import type { BfclCase, BfclEngine, LastTurn, RecordedAnswer, Step, TurnCalls } from './engine.ts';

export interface BfclResponse {
  turns: TurnCalls;
}

/** The official handler gives up a turn after this many answers with calls and one more. */
const MAX_STEPS = 20;

/** One question, one answer. */
export async function runSingleTurn(item: BfclCase, tools: AttemptTools): Promise<BfclResponse> {
  const { messages, tools: turnTools } = item.turns[0]!;
  return { turns: [[recordAnswer(await tools.ask(question(messages, turnTools)))]] };
}

/** The official loop: in each turn the model is asked, and its calls run, until it calls nothing. */
export async function runEpisode(
  engine: BfclEngine,
  item: BfclCase,
  tools: AttemptTools,
): Promise<BfclResponse> {
  const turns: RecordedAnswer[][] = [];
  const messages: Message[] = [];
  let turnTools: readonly ToolSpec[] | null = null;
  for (const turnStart of item.turns) {
    messages.push(...turnStart.messages);
    turnTools = turnStart.tools ?? turnTools;
    turns.push([]);
    const ended = await runTurn({
      engine,
      item,
      tools,
      messages,
      turnTools,
      before: turns.slice(0, -1),
      answers: turns.at(-1)!,
    });
    // Fewer turns than the ground truth: the official judge calls it forced to quit.
    if (!ended) break;
  }
  return { turns };
}

/** Each turn on its own, after the gold calls of the turns before it. */
export async function runIndependentTurns(
  engine: BfclEngine,
  item: BfclCase,
  tools: AttemptTools,
): Promise<BfclResponse> {
  const turns: RecordedAnswer[][] = [];
  const history: Message[] = [];
  let turnTools: readonly ToolSpec[] | null = null;
  for (const [index, turnStart] of item.turns.entries()) {
    history.push(...turnStart.messages);
    turnTools = turnStart.tools ?? turnTools;
    turns.push([]);
    await runTurn({
      engine,
      item,
      tools,
      messages: [...history],
      turnTools,
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
  turnTools: readonly ToolSpec[] | null;
  before: TurnCalls;
  /** Filled by the turn. */
  answers: RecordedAnswer[];
}

/**
 * Whether the turn ended by itself, not by too many steps, calls that cannot run or a question that is too
 * long.
 */
async function runTurn({
  engine,
  item,
  tools,
  messages,
  turnTools,
  before,
  answers,
}: TurnInput): Promise<boolean> {
  while (answers.length <= MAX_STEPS) {
    const answer = await tools.ask(question(messages, turnTools));
    answers.push(recordAnswer(answer));
    // Every later question of the conversation contains this one.
    if (answer.finish_reason === 'prompt_too_long') return false;
    messages.push(assistantMessage(answer.text, answer.toolCalls));
    // Stored, since a time limit may be hit only once.
    const last = await tools.once(async (signal) =>
      lastStep(await engine.lastTurn(item.id, [...before, answers], signal)),
    );
    if (last.error !== null) return false;
    if (last.step === null) {
      messages.push(...unreadMessages(answer.toolCalls));
      return true;
    }
    messages.push(...toolMessages(answer.toolCalls, last.step));
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
    const replayed = ran.steps[step];
    return [
      assistantMessage(answer.text, toolCalls),
      ...(replayed === undefined ? [] : toolMessages(toolCalls, replayed)),
    ];
  });
}

const recordAnswer = ({ text, toolCalls, finish_reason: reason }: Answer): RecordedAnswer => ({
  text,
  toolCalls: toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
  ...(reason === 'prompt_too_long' && { unread: true }),
});

const question = (messages: readonly Message[], tools: readonly ToolSpec[] | null): Question => ({
  messages: [...messages],
  ...(tools !== null && { tools }),
});

/** As in the official handlers of reasoning models, reasoning is not repeated in the conversation. */
function assistantMessage(text: string, toolCalls: Answer['toolCalls']): Message {
  const content = stripReasoning(text).replace(/^\n+/, '');
  return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) };
}

/** Servers require an answer to every call in a conversation, also to unreadable ones. */
const unreadMessages = (toolCalls: Answer['toolCalls']): Message[] =>
  toolCalls.map(({ id }) => ({ role: 'tool', toolCallId: id, content: 'The call could not be read.' }));

/** An answer to each native call, or one message to calls in a text, as in the official handlers. */
function toolMessages(toolCalls: Answer['toolCalls'], { results, feedback }: Step): Message[] {
  if (toolCalls.length === 0) return [{ role: 'user', content: feedback }];
  return toolCalls.map(({ id }, index) => ({ role: 'tool', toolCallId: id, content: results[index] ?? '' }));
}
