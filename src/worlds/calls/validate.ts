import { canonicalJson } from '../../store/canonical-json.ts';
import { jsonObjects } from '../json-tasks/untrusted-json.ts';
import { readPythonCall } from './call-formats.ts';
import { acceptedValues, callMatches } from './match.ts';
import type { TextEquality } from './match.ts';
import type {
  ArgumentValue,
  Call,
  CallMessage,
  CallsTask,
  CallTool,
  ExpectedCall,
  Parameter,
} from './task-schema.ts';

/**
 * Why a task has no correct answer, or an uninformative one; undefined if it is sound.
 * @param lastRoles who may have spoken last
 */
export function validateCallsTask(
  { dialogue, tools, calls }: CallsTask,
  lastRoles: readonly CallMessage['role'][] = ['user'],
): string | undefined {
  const last = dialogue.at(-1);
  if (
    last === undefined ||
    !lastRoles.includes(last.role) ||
    dialogue.some(({ content }) => content.trim() === '')
  )
    return 'no_request';
  // Two tools of one name would make a call ambiguous.
  if (new Set(tools.map(({ name }) => name)).size !== tools.length) return 'unknown_tool';
  if (
    !tools.every((tool) =>
      isSoundParameter({ type: 'object', properties: tool.parameters, required: tool.required }),
    )
  )
    return 'wrong_tools';
  if (new Set(calls.map((call) => canonicalJson(call))).size !== calls.length) return 'repeated_call';
  for (const call of calls) {
    const tool = tools.find(({ name }) => name === call.name);
    const fault = tool === undefined ? 'unknown_tool' : validateCall(call, tool);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function validateCall({ arguments: accepted }: ExpectedCall, tool: CallTool): string | undefined {
  if (tool.required.some((name) => !Object.hasOwn(accepted, name))) return 'wrong_arguments';
  for (const [name, values] of Object.entries(accepted)) {
    const parameter = Object.hasOwn(tool.parameters, name) ? tool.parameters[name]! : undefined;
    const accepted = acceptedValues(tool, name, values);
    if (parameter === undefined || !accepted.every((value) => fits(value, parameter)))
      return 'wrong_arguments';
    if (new Set(accepted.map((value) => canonicalJson(value))).size >= countChoices(parameter))
      return 'anything_accepted';
  }
  return undefined;
}

/** Whether a parameter's schema is consistent. */
function isSoundParameter({
  type,
  enum: allowed,
  items,
  properties = {},
  required = [],
}: Parameter): boolean {
  if (
    allowed?.some((value) => (typeof value === 'number') !== (type === 'number' || type === 'integer')) ===
      true ||
    (allowed !== undefined && !['string', 'integer', 'number'].includes(type))
  )
    return false;
  if ((items !== undefined && type !== 'array') || (Object.keys(properties).length > 0 && type !== 'object'))
    return false;
  return (
    required.every((name) => Object.hasOwn(properties, name)) &&
    Object.values(properties).every(isSoundParameter) &&
    (items === undefined || isSoundParameter(items))
  );
}

function fits(
  value: ArgumentValue,
  { type, enum: allowed, items, properties, required = [] }: Parameter,
): boolean {
  if (allowed !== undefined && !allowed.includes(value as string | number)) return false;
  if (type === 'array')
    return (
      Array.isArray(value) &&
      (items === undefined || (value as readonly ArgumentValue[]).every((item) => fits(item, items)))
    );
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type !== 'object') return typeof value === type;
  if (typeof value !== 'object' || Array.isArray(value)) return false;
  const entries = Object.entries(value as Record<string, ArgumentValue>);
  return (
    required.every((name) => Object.hasOwn(value, name)) &&
    (properties === undefined ||
      entries.every(([name, item]) => Object.hasOwn(properties, name) && fits(item, properties[name]!)))
  );
}

/** How many values a parameter can have. */
function countChoices({ type, enum: allowed }: Parameter): number {
  if (type === 'boolean') return 2;
  return allowed === undefined ? Infinity : Math.max(2, new Set(allowed).size);
}

/**
 * Whether the dialogue contains an expected call, in either format: copying it would be success.
 */
export function leaksCall({ dialogue, tools, calls }: CallsTask, same: TextEquality): boolean {
  const writtenCalls = dialogue.flatMap(({ content }) => [
    ...pythonCallsIn(content),
    ...jsonObjects(content).flatMap(toCalls),
  ]);
  return calls.some((gold) =>
    writtenCalls.some((call) =>
      callMatches(
        gold,
        tools.find(({ name }) => name === gold.name)!,
        call,
        same,
      ),
    ),
  );
}

function pythonCallsIn(text: string): Call[] {
  return [...text.matchAll(/(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(/g)].flatMap(
    ({ index }) => readPythonCall(text, index)?.call ?? [],
  );
}

function toCalls(object: unknown): Call[] {
  const {
    name,
    arguments: args,
    parameters = args,
  } = object as { name?: unknown; arguments?: unknown; parameters?: unknown };
  return typeof name === 'string' && typeof parameters === 'object' && parameters !== null
    ? [{ name, arguments: parameters as Call['arguments'] }]
    : [];
}
