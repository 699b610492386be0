import { z } from 'zod';
import { boundedNumber, toOutputSchema } from '../json-tasks/output-schema.ts';
import type { LanguageSettings } from './settings.ts';
import { argumentTypes, nameSchema } from './task-schema.ts';
import { library, MAX_ARGUMENT, MAX_TEXT_LENGTH } from './tools.ts';
import type { LibraryTool, ValueType } from './tools.ts';

/**
 * What the simulator may write under these settings, kind by kind: narrower than what `parseLanguageTask`
 * reads by what it does not use (`latents`) and by numbers that no task needs.
 */
export function languageOutputSchema({ kinds }: Pick<LanguageSettings, 'kinds'>): Record<string, unknown> {
  const schemas = [...new Set(kinds)].flatMap((kind) =>
    kind === 'execution' ? executionTasks() : [labelledTasks[kind]],
  );
  return toOutputSchema(schemas);
}

const prompt = z.string().min(1).max(2000);
const noTools = z.array(nameSchema).max(0);

const ownTool = z.strictObject({
  name: nameSchema,
  description: z.string().min(1).max(300),
  parameters: z.record(nameSchema, z.enum(argumentTypes)),
});

const labelledTasks = {
  call: z.strictObject({
    prompt,
    tools: z.array(ownTool).min(1).max(12),
    evaluation: z.strictObject({ kind: z.literal('call') }),
    target_action: z.strictObject({
      name: nameSchema,
      arguments: z.record(nameSchema, z.union([z.string().max(400), boundedNumber, z.boolean()])),
    }),
  }),
  exact: z.strictObject({
    prompt,
    tools: noTools,
    evaluation: z.strictObject({
      kind: z.literal('exact'),
      answers: z.array(z.string().min(1).max(200)).min(1).max(8),
    }),
  }),
  reference: z.strictObject({
    prompt,
    tools: noTools,
    evaluation: z.strictObject({ kind: z.literal('reference'), answer: z.string().min(1).max(1000) }),
  }),
};

/** Tasks without a table, whose programs look nothing up, and tasks with one of two to six columns. */
function executionTasks(): z.ZodType[] {
  const toolNames = (tools: Library): z.ZodType =>
    z
      .array(z.enum(tools.map(([name]) => name)))
      .min(1)
      .max(12);
  const all = [...library];
  const withoutTable = all.filter(([name]) => name !== 'lookup');
  const evaluation = { kind: z.literal('execution') };
  return [
    z.strictObject({
      prompt,
      tools: toolNames(withoutTable),
      evaluation: z.strictObject({ ...evaluation, program: programSchema(withoutTable, 'program') }),
    }),
    z.strictObject({
      prompt,
      tools: toolNames(all),
      evaluation: z.strictObject({
        ...evaluation,
        program: programSchema(all, 'program_on_table'),
        table: z.union([2, 3, 4, 5, 6].map(tableSchema)),
      }),
    }),
  ];
}

const tableSchema = (columns: number): z.ZodType =>
  z.strictObject({
    columns: z.array(z.string().min(1).max(40)).length(columns),
    rows: z
      .array(z.array(z.union([boundedNumber, z.string().max(100)])).length(columns))
      .min(1)
      .max(20),
  });

type Library = (readonly [string, LibraryTool])[];

/**
 * Calls of these tools with arguments of the right types. They refer to themselves, whatever `maxDepth` is: eight
 * levels written out have 80 kB, which a server reads with every request.
 */
function programSchema(tools: Library, prefix: string): z.ZodType {
  const call = ([name, { parameters }]: Library[number]): z.ZodType =>
    z.strictObject({
      tool: z.literal(name),
      arguments: z.strictObject(
        Object.fromEntries(
          Object.entries(parameters).map(([parameter, type]) => [parameter, argument(parameter, type)]),
        ),
      ),
    });
  const callsWith = (result: 'integer' | 'text'): z.ZodType =>
    z
      .lazy(() =>
        z.union(
          tools
            .filter(
              ([, tool]) => tool.result === 'cell' || (tool.result === 'integer') === (result === 'integer'),
            )
            .map(call),
        ),
      )
      .meta({ id: `${prefix}_${result}` });
  const [integer, text] = [callsWith('integer'), callsWith('text')];
  const argument = (parameter: string, type: ValueType): z.ZodType =>
    z.union([
      parameter === 'part' ? z.string().min(1).max(MAX_TEXT_LENGTH) : literals[type],
      // A text may turn out to be a date.
      type === 'integer' ? integer : text,
    ]);
  return z.union([integer, text]);
}

/** A day from 1900 to 2100. */
const date =
  /^(?:(?:19(?:0[48]|[2468][048]|[13579][26])|20(?:[02468][048]|[13579][26]))-02-29|(?:19\d\d|20\d\d|2100)-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])))$/;

const literals: Record<ValueType, z.ZodType> = {
  integer: z.int().min(-MAX_ARGUMENT).max(MAX_ARGUMENT),
  text: z.string().max(MAX_TEXT_LENGTH),
  date: z.string().regex(date),
};
