import { z } from 'zod';
import { boundedNumber, listOf, toOutputSchema } from '../json-tasks/output-schema.ts';
import type { CallsSettings } from './settings.ts';
import { nameSchema } from './task-schema.ts';
import type { ArgumentValue, CallCategory, Parameter } from './task-schema.ts';

/**
 * What the simulator may write under these settings, category by category: narrower than what `parseJsonTask`
 * reads by forms that no tool needs (`items`, `properties` and `required` of a parameter that has none).
 */
export const callsOutputSchema = ({
  categories,
  isShort = false,
}: Pick<CallsSettings, 'categories'> & { isShort?: boolean }): Record<string, unknown> =>
  toOutputSchema(
    [...new Set(categories)].map((category) => (isShort ? shortSchemas : taskSchemas)[category]),
  );

/** As long as may be without a dot; with dots, up to 32 letters and dots before one. */
const toolName = z.string().regex(/^(?:[A-Za-z_]\w{0,63}|[A-Za-z_](?:\w|\.[A-Za-z_]){0,31})$/);

const value: z.ZodType<ArgumentValue> = z
  .lazy(() =>
    z.union([
      z.string().max(1000),
      boundedNumber,
      z.boolean(),
      z.array(value).max(20),
      z.record(nameSchema, value),
    ]),
  )
  .meta({ id: 'value' });

const description = z.string().min(1).max(400).optional();
const choices = (choice: z.ZodType) => z.array(choice).min(1).max(20).optional();

/** A tool's parameter by its type: choices among texts or numbers, items of arrays, properties of objects. */
const parameter: z.ZodType<Parameter> = z
  .lazy(() =>
    z.union([
      z.strictObject({
        type: z.literal('string'),
        description,
        enum: choices(z.string().min(1).max(100)),
      }),
      z.strictObject({ type: z.enum(['integer', 'number']), description, enum: choices(boundedNumber) }),
      z.strictObject({ type: z.literal('boolean'), description }),
      z.strictObject({ type: z.literal('array'), description, items: parameter.optional() }),
      z.strictObject({
        type: z.literal('object'),
        description,
        properties: z.record(nameSchema, parameter).optional(),
        required: z.array(nameSchema).optional(),
      }),
    ]),
  )
  .meta({ id: 'parameter' }) as z.ZodType<Parameter>;

const tool = z
  .strictObject({
    name: toolName,
    description: z.string().min(1).max(600),
    parameters: z.record(nameSchema, parameter),
    required: z.array(nameSchema),
  })
  .meta({ id: 'tool' });

const call = z
  .strictObject({
    name: toolName,
    arguments: z.record(nameSchema, z.array(value).min(1).max(4)),
  })
  .meta({ id: 'call' });

const content = z.string().min(1).max(2000);
const message = z
  .strictObject({ role: z.enum(['user', 'assistant', 'tool']), content })
  .meta({ id: 'message' });
const request = z.strictObject({ role: z.literal('user'), content }).meta({ id: 'request' });

const MAX_MESSAGES = 20;

/** The last message is the user's, which takes a form for each length to say. */
const dialogue = z
  .union(
    Array.from({ length: MAX_MESSAGES }, (_, before) =>
      listOf([...Array.from({ length: before }, () => message), request]),
    ),
  )
  .meta({ id: 'dialogue' });

const tools = { single: z.array(tool).length(1), several: z.array(tool).min(2).max(20) };
const calls = { single: z.array(call).length(1), several: z.array(call).min(2).max(8) };

const taskSchemas: Record<CallCategory, z.ZodType> = {
  simple: z.strictObject({ dialogue, tools: tools.single, calls: calls.single }),
  multiple: z.strictObject({ dialogue, tools: tools.several, calls: calls.single }),
  parallel: z.strictObject({ dialogue, tools: tools.single, calls: calls.several }),
  parallel_multiple: z.strictObject({ dialogue, tools: tools.several, calls: calls.several }),
};

const shortCall = z
  .strictObject({ name: toolName, arguments: z.record(nameSchema, value) })
  .meta({ id: 'shortCall' });
const shortCalls = { single: z.array(shortCall).length(1), several: z.array(shortCall).min(2).max(8) };

/** Without a dialogue, and with one value for each argument (`world.wording`). */
const shortSchemas: Record<CallCategory, z.ZodType> = {
  simple: z.strictObject({ tools: tools.single, calls: shortCalls.single }),
  multiple: z.strictObject({ tools: tools.several, calls: shortCalls.single }),
  parallel: z.strictObject({ tools: tools.single, calls: shortCalls.several }),
  parallel_multiple: z.strictObject({ tools: tools.several, calls: shortCalls.several }),
};
