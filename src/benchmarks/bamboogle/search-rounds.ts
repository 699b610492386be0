import type { Answer, Message } from '../../formats/chat-messages.ts';
import { parseLiteral } from '../../formats/python-literal.ts';
import type { AttemptTools, SuiteSettings } from '../suite.ts';
import { search, shown } from './search-endpoint.ts';
import type { SearchEndpoint } from './search-endpoint.ts';
import {
  answerNow,
  continuePrompt,
  nativeSystem,
  promptSystem,
  results,
  searchQuestion,
  searchTool,
} from './search-prompts.ts';

/**
 * Turns of the model, as in ToolRL's harness: what it calls in the last one is not run, for no turn is left
 * to read it.
 */
const mostRounds = 4;
const shownResults = 5;

/** What a model came to with searches: its last words, '' where its rounds ran out. */
export interface Searched {
  text: string;
  rounds: number;
  queries: readonly string[];
}

/**
 * Lets the model search and answer, at most four turns. A turn's first call is run; a call that cannot be
 * read costs its turn, and the same is asked again.
 */
export async function searchRounds(
  question: string,
  endpoint: SearchEndpoint,
  format: SuiteSettings['toolFormat'],
  tools: AttemptTools,
): Promise<Searched> {
  const history = format === 'native' ? new NativeHistory(question) : new PromptHistory(question);
  const queries: string[] = [];
  for (let round = 1; round <= mostRounds; round++) {
    const answer = await tools.ask({
      messages: history.messages(),
      ...(format === 'native' && { tools: [searchTool] }),
    });
    if (!history.calls(answer)) return { text: answer.text, rounds: round, queries };
    const query = history.query(answer);
    if (round === mostRounds || query === undefined) continue;
    queries.push(query);
    const found = await tools.once((signal) => search(endpoint, query, signal));
    history.add(
      answer,
      results(shown(found.slice(0, shownResults))),
      round < mostRounds - 1 ? continuePrompt : answerNow,
    );
  }
  return { text: '', rounds: mostRounds, queries };
}

interface History {
  messages(): Message[];
  calls(answer: Answer): boolean;
  /** What the answer's first call searches for; undefined where that cannot be read. */
  query(answer: Answer): string | undefined;
  add(answer: Answer, found: string, next: string): void;
}

/** The dialogue as ToolRL writes it: all of it in one user message. */
class PromptHistory implements History {
  #dialogue: string;

  constructor(question: string) {
    this.#dialogue = `**Dialogue Records History**\n<user> ${searchQuestion(question)} </user>`;
  }

  messages(): Message[] {
    return [
      { role: 'system', content: promptSystem },
      { role: 'user', content: this.#dialogue },
    ];
  }

  calls({ text }: Answer): boolean {
    return text.includes('<tool_call>');
  }

  query({ text }: Answer): string | undefined {
    return textQuery(readCall(firstCall(text)), 'parameters');
  }

  add({ text }: Answer, found: string, next: string): void {
    const thought = (text.split('<think>')[1] ?? text.split('<tool_call>')[0]!).split('</think>')[0]!.trim();
    this.#dialogue += `\n\n<think> ${thought} </think>\n<tool_call>\n${firstCall(text)}\n</tool_call>\n<obs> ${found} </obs>\n\n<user> ${next} </user>`;
  }
}

/** The dialogue as chat completions have it. */
class NativeHistory implements History {
  readonly #messages: Message[];

  constructor(question: string) {
    this.#messages = [
      { role: 'system', content: nativeSystem },
      { role: 'user', content: searchQuestion(question) },
    ];
  }

  messages(): Message[] {
    return [...this.#messages];
  }

  calls({ toolCalls }: Answer): boolean {
    return toolCalls.length > 0;
  }

  query({ toolCalls: [first] }: Answer): string | undefined {
    return textQuery({ name: first!.name, arguments: readCall(first!.arguments) }, 'arguments');
  }

  add({ text, toolCalls }: Answer, found: string, next: string): void {
    this.#messages.push({ role: 'assistant', content: text, toolCalls });
    // Chat completions want an answer to every call.
    for (const [index, { id }] of toolCalls.entries())
      this.#messages.push({
        role: 'tool',
        toolCallId: id,
        content: index === 0 ? found : 'Not run: only the first call of a turn is.',
      });
    this.#messages.push({ role: 'user', content: next });
  }
}

const firstCall = (text: string): string =>
  text.split('<tool_call>')[1]!.split('</tool_call>')[0]!.trim().split('\n')[0]!;

function readCall(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return parseLiteral(text);
  }
}

function textQuery(call: unknown, field: 'parameters' | 'arguments'): string | undefined {
  const query = (call as Partial<Record<typeof field, { query?: unknown } | null>> | null | undefined)?.[
    field
  ]?.query;
  return typeof query === 'string' && query.trim() !== '' ? query.trim() : undefined;
}
