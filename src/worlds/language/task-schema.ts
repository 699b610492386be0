import { z } from 'zod';

/** What the simulator writes, as JSON of exactly this form. */

/** A call of a tool of the library; an argument may be a call itself. */
export interface Program {
  tool: string;
  arguments: Record<string, number | string | Program>;
}

export const nameSchema = z.string().regex(/^[a-z][a-z0-9_]{0,39}$/);
export const argumentTypes = ['string', 'integer', 'number', 'boolean'] as const;
const cell = z.union([z.number(), z.string().max(100)]);

const programSchema: z.ZodType<Program> = z
  .lazy(() =>
    z.strictObject({
      tool: nameSchema,
      arguments: z.record(nameSchema, z.union([z.number(), z.string().max(200), programSchema])),
    }),
  )
  .meta({ id: 'program' });

const tableSchema = z.strictObject({
  columns: z.array(z.string().min(1).max(40)).min(2).max(6),
  rows: z.array(z.array(cell).min(2).max(6)).min(1).max(20),
});

const ownToolSchema = z.strictObject({
  name: nameSchema,
  description: z.string().min(1).max(300),
  parameters: z.record(nameSchema, z.enum(argumentTypes)),
});

const actionSchema = z.strictObject({
  name: nameSchema,
  arguments: z.record(nameSchema, z.union([z.string().max(400), z.number(), z.boolean()])),
});

const evaluationSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('execution'), program: programSchema, table: tableSchema.optional() }),
  z.strictObject({ kind: z.literal('call') }),
  z.strictObject({ kind: z.literal('exact'), answers: z.array(z.string().min(1).max(200)).min(1).max(8) }),
  z.strictObject({ kind: z.literal('reference'), answer: z.string().min(1).max(1000) }),
]);

/** `tools`: names of library tools for a program; descriptions of the task's own tools for a call. */
export const languageTaskSchema = z.strictObject({
  prompt: z.string().min(1).max(2000),
  tools: z.array(z.union([nameSchema, ownToolSchema])).max(12),
  evaluation: evaluationSchema,
  target_action: actionSchema.optional(),
  latents: z.record(nameSchema, z.union([z.number(), z.string().max(80)])).optional(),
});

export type Table = z.infer<typeof tableSchema>;
export type OwnTool = z.infer<typeof ownToolSchema>;
export type ToolAction = z.infer<typeof actionSchema>;
export type LanguageTask = Omit<z.infer<typeof languageTaskSchema>, 'latents'>;
