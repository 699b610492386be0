import type { Answer, Message, ToolSpec } from '../../formats/chat-messages.ts';
import { parseLiteral } from '../../formats/python-literal.ts';
import { formatThoughtAndCalls } from '../../formats/toolrl.ts';
import type { AttemptTools, SuiteSettings } from '../suite.ts';
import { formatHits, search } from './search-endpoint.ts';
import type { SearchEndpoint } from './search-endpoint.ts';

/**
 * Turns of the model, as in ToolRL's harness: a call in the last one is not run, since no turn is left to
 * read its result.
 */
const MAX_ROUNDS = 4;
const MAX_SHOWN_RESULTS = 5;

/** The outcome of a search conversation: the model's last text, '' if it ran out of rounds. */
export interface SearchOutcome {
  text: string;
  rounds: number;
  queries: readonly string[];
}

/**
 * Lets the model search and answer, at most four turns. A turn's first call is run; an unreadable call costs
 * its turn, and the same question is asked again.
 */
export async function runSearchRounds(
  question: string,
  endpoint: SearchEndpoint,
  format: SuiteSettings['toolFormat'],
  tools: AttemptTools,
): Promise<SearchOutcome> {
  const history = format === 'native' ? new NativeHistory(question) : new PromptHistory(question);
  const queries: string[] = [];
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const answer = await tools.ask({
      messages: history.messages(),
      ...(format === 'native' && { tools: [searchTool] }),
    });
    if (!history.hasCall(answer)) return { text: answer.text, rounds: round, queries };
    const query = history.query(answer);
    if (round === MAX_ROUNDS || query === undefined) continue;
    queries.push(query);
    const hits = await tools.once((signal) => search(endpoint, query, signal));
    history.add(
      answer,
      searchResults(formatHits(hits.slice(0, MAX_SHOWN_RESULTS))),
      round < MAX_ROUNDS - 1 ? continuePrompt : answerNowPrompt,
    );
  }
  return { text: '', rounds: MAX_ROUNDS, queries };
}

interface SearchHistory {
  messages(): Message[];
  hasCall(answer: Answer): boolean;
  /** The query of the answer's first call; undefined if it cannot be read. */
  query(answer: Answer): string | undefined;
  add(answer: Answer, observation: string, next: string): void;
}

/** The dialogue as ToolRL writes it: all of it in one user message. */
class PromptHistory implements SearchHistory {
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

  hasCall({ text }: Answer): boolean {
    return text.includes('<tool_call>');
  }

  query({ text }: Answer): string | undefined {
    return readQuery(readCall(firstCall(text)), 'parameters');
  }

  add({ text }: Answer, observation: string, next: string): void {
    const thought = (text.split('<think>')[1] ?? text.split('<tool_call>')[0]!).split('</think>')[0]!.trim();
    this.#dialogue += `\n\n<think> ${thought} </think>\n<tool_call>\n${firstCall(text)}\n</tool_call>\n<obs> ${observation} </obs>\n\n<user> ${next} </user>`;
  }
}

/** The dialogue as chat completions have it. */
class NativeHistory implements SearchHistory {
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

  hasCall({ toolCalls }: Answer): boolean {
    return toolCalls.length > 0;
  }

  query({ toolCalls: [first] }: Answer): string | undefined {
    return readQuery({ name: first!.name, arguments: readCall(first!.arguments) }, 'arguments');
  }

  add({ text, toolCalls }: Answer, observation: string, next: string): void {
    this.#messages.push({ role: 'assistant', content: text, toolCalls });
    // Chat completions require an answer to every call.
    for (const [index, { id }] of toolCalls.entries())
      this.#messages.push({
        role: 'tool',
        toolCallId: id,
        content: index === 0 ? observation : 'Not run: only the first call of a turn is.',
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

function readQuery(call: unknown, field: 'parameters' | 'arguments'): string | undefined {
  const query = (call as Partial<Record<typeof field, { query?: unknown } | null>> | null | undefined)?.[
    field
  ]?.query;
  // JSON may say half a surrogate pair (`\ud83d`) in text that is well formed.
  return typeof query === 'string' && query.trim() !== '' ? query.trim().toWellFormed() : undefined;
}

/** Its only tool, described natively. */
export const searchTool: ToolSpec = {
  name: 'Search',
  description: 'Search the answer for a specific query leveraging the google search engine',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'The query to search for.' } },
    required: ['query'],
  },
};

const assistantRole =
  'You are a helpful multi-turn dialogue assistant capable of leveraging tool calls to solve user tasks and provide structured chat responses.';

/** ToolRL's system prompt for Bamboogle, in its words. */
export const promptSystem = `${assistantRole}

**Available Tools**
In your response, you can use the following tools:
1. Name: Search
Description: Search the answer for a specific query leveraging the google search engine
Parameters: {"query": {"description": "The query to search for.", "type": "string", "default": ""}}

**Steps for Each Turn**
1. **Think:** Recall relevant context and analyze the current user goal.
2. **Decide on Tool Usage:** If a tool is needed, specify the tool and its parameters.
3. **Respond Appropriately:** If a response is needed, generate one while maintaining consistency across user queries.

**Output Format**
\`\`\`plaintext
${formatThoughtAndCalls}
<response> AI's final response </response>
\`\`\`

**Important Notes**
1. You must always include the \`<think>\` field to outline your reasoning. Provide at least one of \`<tool_call>\` or \`<response>\`. Decide whether to use \`<tool_call>\` (possibly multiple times), \`<response>\`, or both.
2. You can invoke multiple tool calls simultaneously in the \`<tool_call>\` fields. Each tool call should be a JSON object with a "name" field and an "parameters" field containing a dictionary of parameters. If no parameters are needed, leave the "parameters" field an empty dictionary.
3. Refer to the previous dialogue records in the history, including the user's queries, previous \`<tool_call>\`, \`<response>\`, and any tool feedback noted as \`<obs>\` (if exists).
`;

export const nativeSystem = 'You are a helpful assistant that can call a search tool to answer questions.';

export const searchQuestion = (question: string): string =>
  `${question}\nPerform tool call if you are not sure about the answer. Make a plan to solve the problem step by step.`;

export const searchResults = (hits: string): string =>
  `Search results for the first tool call query:\n${hits}`;

export const continuePrompt =
  'Please continue to search if needed. If you can obtain the answer, please do not call any tool and directly provide a succinct answer in the response.';
export const answerNowPrompt =
  'Do not make tool call any more. Please directly provide a succinct answer in your next response.';
