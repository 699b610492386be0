import { formatThoughtAndCalls } from '../../formats/toolrl.ts';
import {
  readJsonCalls,
  readPythonCalls,
  writeJsonCalls,
  writePythonCalls,
  writePythonLiteral,
} from './call-formats.ts';
import { exactText, looseText } from './match.ts';
import type { TextEquality } from './match.ts';
import type { Call, CallMessage, CallsTask, CallTool, Parameter, Type } from './task-schema.ts';

type Question = { system: string; user: string };

/**
 * The single-turn part of BFCL's system prompt for models without native tools (`DEFAULT_SYSTEM_PROMPT` of
 * bfcl-eval).
 */
export function bfclQuestion({ tools, dialogue }: CallsTask): Question {
  return {
    system: `${bfclInstruction}\n\nHere is a list of functions in JSON format that you can invoke.\n${JSON.stringify(tools.map(bfclTool))}\n`,
    user:
      dialogue.length === 1
        ? dialogue[0]!.content
        : dialogue.map(({ role, content }) => `${role}: ${content}`).join('\n'),
  };
}

const bfclInstruction = `You are an expert in composing functions. You are given a question and a set of possible functions. Based on the question, you will need to make one or more function/tool calls to achieve the purpose.
You should only return the function calls in your response.

If you decide to invoke any of the function(s), you MUST put it in the format of [func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]
You SHOULD NOT include any other text in the response.`;

const bfclTypes: Partial<Record<Type, string>> = { object: 'dict', number: 'float' };

const bfclTool = ({ name, description, parameters, required }: CallTool) => ({
  name,
  description,
  parameters: bfclParameter({ type: 'object', properties: parameters, required }),
});

const bfclParameter = ({ type, items, properties, ...rest }: Parameter): object => ({
  type: bfclTypes[type] ?? type,
  ...(items && { items: bfclParameter(items) }),
  ...(properties && { properties: mapParameters(properties, bfclParameter) }),
  ...rest,
});

/** The part of ToolRL's prompt for API-Bank that is about calls. */
export function apiBankQuestion({ tools, dialogue, calls }: CallsTask): Question {
  const toolTexts = tools.map(
    ({ name, description, parameters, required }, index) =>
      `${index + 1}. Name: ${name}\nDescription: ${description}\nParameters: ${writePythonLiteral(mapParameters(parameters, apiBankParameter))}${optionalNote(parameters, required)}`,
  );
  const request =
    calls.length === 1
      ? 'Based on our conversation above, please only make one tool call to solve my need.'
      : 'Based on our conversation above, please make the tool calls that solve my need.';
  return {
    system: apiBankInstruction.replace('{tools}', () => toolTexts.join('\n')),
    user: `**Dialogue Records History**\n${dialogue.map(dialogueLine).join('\n')}\n\n<user> ${request}</user>\n`,
  };
}

const apiBankInstruction = `You are a helpful multi-turn dialogue assistant capable of leveraging tool calls to solve user tasks.

**Available Tools**
In your response, you can use the following tools:
{tools}

**Output Format**
\`\`\`plaintext
${formatThoughtAndCalls}
\`\`\`

**Important Notes**
1. You must always include the \`<think>\` field to outline your reasoning, and end with the \`<tool_call>\` field.
2. You can invoke multiple tool calls simultaneously in the \`<tool_call>\` field. Each tool call should be a JSON object with a "name" field and a "parameters" field containing a dictionary of parameters. If no parameters are needed, leave the "parameters" field an empty dictionary.
3. Refer to the previous dialogue records in the history, including the user's queries, previous \`<response>\`, and any tool feedback noted as \`<obs>\` (if exists).`;

const apiBankTypes: Record<Type, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
};

const apiBankParameter = ({ type, items, properties, ...rest }: Parameter): object => ({
  type: apiBankTypes[type],
  ...rest,
  ...(items && { items: apiBankParameter(items) }),
  ...(properties && { properties: mapParameters(properties, apiBankParameter) }),
});

function optionalNote(parameters: CallTool['parameters'], required: readonly string[]): string {
  const optional = Object.keys(parameters).filter((name) => !required.includes(name));
  return optional.length === 0 ? '' : `\nOptional: ${optional.join(', ')}`;
}

const tags = { user: 'user', assistant: 'response', tool: 'obs' } as const;
const dialogueLine = ({ role, content }: CallMessage): string => `<${tags[role]}>${content}</${tags[role]}>`;

const mapParameters = (
  parameters: Record<string, Parameter>,
  convert: (parameter: Parameter) => object,
): Record<string, object> =>
  Object.fromEntries(Object.entries(parameters).map(([name, parameter]) => [name, convert(parameter)]));

/** How a benchmark asks for calls, writes them and compares them. */
export interface CallStyle {
  question(task: CallsTask): { system: string; user: string };
  read(answer: string): Call[] | undefined;
  write(calls: readonly Call[]): string;
  sameText: TextEquality;
}

export const callStyles = {
  bfcl: { question: bfclQuestion, read: readPythonCalls, write: writePythonCalls, sameText: looseText },
  'api-bank': { question: apiBankQuestion, read: readJsonCalls, write: writeJsonCalls, sameText: exactText },
} satisfies Record<string, CallStyle>;
