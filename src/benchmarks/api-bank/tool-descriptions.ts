import type { Answer, ToolSpec } from '../../formats/chat-messages.ts';
import { parseLiteral } from '../../formats/python-literal.ts';
import type { SuiteSettings } from '../suite.ts';

type Parameters = Readonly<Record<string, unknown>>;

const jsonTypes: Readonly<Record<string, Parameters>> = {
  str: { type: 'string' },
  int: { type: 'integer' },
  float: { type: 'number' },
  bool: { type: 'boolean' },
  list: { type: 'array' },
  'list(str)': { type: 'array', items: { type: 'string' } },
};

/**
 * Name and parameters of each tool of ToolRL's system prompt: its section `Available Tools`, in the two
 * layouts of its levels.
 */
const toolDescription =
  /^\d+\. (?:Name: (\S+)\nDescription: ([^]*?)|(\S+): ([^]*?))\nParameters: (\{.*\})$/gm;

/**
 * The tools that ToolRL's system prompt describes, for servers that take them. Every parameter is declared a
 * string, with the type that the data names in its description: all gold values are strings, and its rule
 * tells "5" from 5.
 * @throws Error for a prompt whose tools cannot be read; the shipped data has none
 */
export function toolsOfSystemPrompt(system: string): ToolSpec[] {
  const section = /you can use the following tools:\n([^]*?)\n\n\*\*Steps/.exec(system)?.[1] ?? '';
  const tools = [...section.matchAll(toolDescription)].map(
    ([, name, about, otherName, otherAbout, parameters]) =>
      toolSpec(
        (name ?? otherName)!,
        (about ?? otherAbout)!,
        parseLiteral(parameters!),
        ({ type, description }) => ({
          type: 'string',
          description: `(${String(type)}) ${String(description)}`,
        }),
      ),
  );
  if (tools.length !== (section.match(/^Parameters: /gm) ?? []).length || tools.length === 0)
    throw new Error(`API-Bank: the tools of a system prompt cannot be read: ${section.slice(0, 200)}`);
  return tools;
}

/**
 * The APIs that an instruction of DAMO's describes, one JSON object a line after `API descriptions:`, with
 * the types that it names.
 */
export function toolsOfInstruction(instruction: string): ToolSpec[] {
  const lines = instruction
    .split('API descriptions:\n')[1]!
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => {
    const { name, description, input_parameters } = parseJson(line) as {
      name: string;
      description: string;
      input_parameters: unknown;
    };
    return toolSpec(name, description, input_parameters, ({ type, description: about }) => ({
      ...jsonTypes[String(type)],
      description: String(about),
    }));
  });
}

function toolSpec(
  name: string,
  description: string,
  parameters: unknown,
  property: (field: Parameters) => Parameters,
): ToolSpec {
  if (!isJsonObject(parameters)) throw new Error(`API-Bank: the parameters of ${name} cannot be read`);
  // The data does not mark optional parameters, and gold calls leave some out.
  return {
    name,
    description,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(parameters).map(([key, field]) => [key, property(field as Parameters)]),
      ),
    },
  };
}

/** What is judged: the answer's text, or the calls that the server parsed, with their raw arguments. */
export type CallResponse = ({ text: string } | { calls: readonly { name: string; arguments: string }[] }) & {
  /** Set if the question was too long for the policy. */
  unread?: true;
};

export function recordResponse(
  { text, toolCalls, finish_reason: reason }: Answer,
  format: SuiteSettings['toolFormat'],
): CallResponse {
  const unread = reason === 'prompt_too_long' && ({ unread: true } as const);
  return format === 'native'
    ? { calls: toolCalls.map((call) => ({ name: call.name, arguments: call.arguments })), ...unread }
    : { text, ...unread };
}

/** Why an answer without a call is wrong. */
export const reasonWithoutCall = ({ unread }: CallResponse): 'prompt_too_long' | 'no_call' =>
  unread === true ? 'prompt_too_long' : 'no_call';

/** The value of a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
