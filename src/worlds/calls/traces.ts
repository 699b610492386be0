import { z } from 'zod';
import { parseUntrustedJson } from '../json-tasks/untrusted-json.ts';
import { nameSchema, toolName, toolSchema, valueSchema } from './task-schema.ts';
import type { Call, CallMessage, CallsTask } from './task-schema.ts';

/**
 * Expert traces of several turns, cut into single steps: a pair (s, a) of the history so far and the expert's
 * next action (GenEnv, Fig. 3). Each is a task of this world: to act as the expert did.
 */

/** Of any length: an action whose history is too long for a task is left out. */
const text = z.string().min(1);
const tracedCall = z.strictObject({ name: toolName, arguments: z.record(nameSchema, valueSchema) });
const traceSchema = z.strictObject({
  tools: z.array(toolSchema).min(1).max(20),
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.strictObject({ role: z.literal('user'), content: text }),
        z.strictObject({ role: z.literal('tool'), content: text }),
        z
          .strictObject({
            role: z.literal('assistant'),
            content: text.optional(),
            calls: z.array(tracedCall).min(1).max(8).optional(),
          })
          .refine(({ content, calls }) => content !== undefined || calls !== undefined, {
            error: 'expected content, calls or both',
          }),
      ]),
    )
    .min(2)
    .max(200),
});

type Trace = z.infer<typeof traceSchema>;
type TracedCall = z.infer<typeof tracedCall>;

/** Characters of a line: many times a task, whose history it holds once for each action. */
const MAX_TRACE_LENGTH = 400_000;

/** A task that a trace was cut into. */
export interface Step {
  /** Its action in the trace, counted from 1. */
  step: number;
  task: CallsTask;
}

/** The steps of a line, or why it is no trace. @param write calls as the agent writes them */
export function cutTrace(
  line: string,
  write: (calls: readonly Call[]) => string,
): Step[] | { problem: string } {
  const json = parseUntrustedJson(line, MAX_TRACE_LENGTH);
  if ('reason' in json) return { problem: `it is no trace (${json.reason})` };
  const parsed = traceSchema.safeParse(json.value);
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues as [z.core.$ZodIssue];
    return { problem: `it is no trace (${path.map(String).join('.')}: ${message})` };
  }
  const steps = [...stepsOf(parsed.data, write)];
  return steps.length === 0 ? { problem: 'it is no trace (no message has calls)' } : steps;
}

function* stepsOf({ tools, messages }: Trace, write: (calls: readonly Call[]) => string): Generator<Step> {
  const history: CallMessage[] = [];
  let step = 0;
  for (const message of messages) {
    if (message.role !== 'assistant') {
      history.push(message);
      continue;
    }
    const { content, calls = [] } = message;
    if (calls.length > 0) {
      step += 1;
      yield { step, task: { dialogue: [...history], tools, calls: calls.map(onlyAsMade) } };
    }
    const said = [content, calls.length === 0 ? undefined : write(calls)].filter(
      (part) => part !== undefined,
    );
    history.push({ role: 'assistant', content: said.join('\n') });
  }
}

/** The label: the call with its very arguments, and no other. */
const onlyAsMade = ({ name, arguments: made }: TracedCall): CallsTask['calls'][number] => ({
  name,
  arguments: Object.fromEntries(Object.entries(made).map(([parameter, value]) => [parameter, [value]])),
});
