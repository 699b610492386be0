import { z } from 'zod';

/** What the simulator writes: tools, a dialogue, and the calls that its last request asks for. */

/** A value as JSON has it, other than null. */
export type ArgumentValue =
  string | number | boolean | readonly ArgumentValue[] | { readonly [name: string]: ArgumentValue };

export const types = ['string', 'integer', 'number', 'boolean', 'array', 'object'] as const;
export type Type = (typeof types)[number];

/** The subset of JSON Schema that tools use. */
export interface Parameter {
  type: Type;
  description?: string | undefined;
  enum?: (string | number)[] | undefined;
  items?: Parameter | undefined;
  properties?: Record<string, Parameter> | undefined;
  required?: string[] | undefined;
}

export const nameSchema = z.string().regex(/^[A-Za-z_]\w{0,63}$/);
/** Tools may be members: `math.factorial`. */
export const toolName = z
  .string()
  .regex(/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/)
  .max(64);

export const valueSchema: z.ZodType<ArgumentValue> = z
  .lazy(() =>
    z.union([
      z.string().max(1000),
      z.number(),
      z.boolean(),
      z.array(valueSchema).max(20),
      z.record(nameSchema, valueSchema),
    ]),
  )
  .meta({ id: 'value' });

const parameterSchema: z.ZodType<Parameter> = z
  .lazy(() =>
    z.strictObject({
      type: z.enum(types),
      description: z.string().min(1).max(400).optional(),
      enum: z
        .array(z.union([z.string().min(1).max(100), z.number()]))
        .min(1)
        .max(20)
        .optional(),
      items: parameterSchema.optional(),
      properties: z.record(nameSchema, parameterSchema).optional(),
      required: z.array(nameSchema).optional(),
    }),
  )
  .meta({ id: 'parameter' });

export const toolSchema = z.strictObject({
  name: toolName,
  description: z.string().min(1).max(600),
  parameters: z.record(nameSchema, parameterSchema),
  required: z.array(nameSchema),
});

/** Of a message, in characters. */
export const MAX_CONTENT = 2000;
/** Of a dialogue. */
export const MAX_MESSAGES = 20;

const messageSchema = z.strictObject({
  role: z.enum(['user', 'assistant', 'tool']),
  content: z.string().min(1).max(MAX_CONTENT),
});

/**
 * `arguments`: values that are accepted for each parameter, the first of them the reference; `""` among those
 * of an optional one = it may be left out.
 */
const goldSchema = z.strictObject({
  name: toolName,
  arguments: z.record(nameSchema, z.array(valueSchema).min(1).max(4)),
});

export const callsTaskSchema = z.strictObject({
  dialogue: z.array(messageSchema).min(1).max(MAX_MESSAGES),
  tools: z.array(toolSchema).min(1).max(20),
  calls: z.array(goldSchema).min(1).max(8),
});

export type CallTool = z.infer<typeof toolSchema>;
export type CallMessage = z.infer<typeof messageSchema>;
export type ExpectedCall = z.infer<typeof goldSchema>;
export type CallsTask = z.infer<typeof callsTaskSchema>;

/** A call that the agent made. */
export interface Call {
  name: string;
  arguments: Readonly<Record<string, unknown>>;
}

/** BFCL's names: one tool or a choice of several, one call or several at once. */
export const callCategories = ['simple', 'multiple', 'parallel', 'parallel_multiple'] as const;
export type CallCategory = (typeof callCategories)[number];

export function callCategory({ tools, calls }: CallsTask): CallCategory {
  if (calls.length === 1) return tools.length === 1 ? 'simple' : 'multiple';
  return tools.length === 1 ? 'parallel' : 'parallel_multiple';
}
