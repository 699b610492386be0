import { z } from 'zod';

/**
 * The services that code owns: a file system, messages and tickets, small forms of those that BFCL's multi-turn
 * cases run on. A call gives a new state and a result, or an error and the same state.
 */

const word = z.string().regex(/^[A-Za-z][\w.-]{0,39}$/);
/** A text in a file, a message or a title; one line. */
const line = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\n\r"\\]+$/);

export const priorities = ['low', 'normal', 'high'] as const;

export const stateSchema = z.strictObject({
  files: z.array(z.strictObject({ folder: word, name: word, text: line })).max(24),
  messages: z.array(z.strictObject({ to: word, text: line })).max(24),
  tickets: z
    .array(
      z.strictObject({
        id: z.int().min(1).max(999),
        title: line,
        priority: z.enum(priorities),
        closed: z.boolean(),
      }),
    )
    .max(24),
});

export type ServiceState = z.infer<typeof stateSchema>;

/** What a call answers. */
export type ServiceResult = { ok: unknown } | { error: string };
export interface Executed {
  state: ServiceState;
  result: ServiceResult;
}

interface ServiceTool {
  description: string;
  parameters: Readonly<Record<string, z.ZodType>>;
  /** Of all arguments together. */
  schema: z.ZodType;
  /** Whether it only reads. */
  reads?: true;
  run: (state: ServiceState, made: Record<string, never>) => Executed;
}

const limit = 24;
const ok = (state: ServiceState, value: unknown): Executed => ({ state, result: { ok: value } });
const fail = (state: ServiceState, error: string): Executed => ({ state, result: { error } });

const placed = (state: ServiceState, folder: string, name: string) =>
  state.files.find((file) => file.folder === folder && file.name === name);
const without = (state: ServiceState, folder: string, name: string) =>
  state.files.filter((file) => !(file.folder === folder && file.name === name));

function changeTicket(
  state: ServiceState,
  id: number,
  change: Partial<ServiceState['tickets'][number]>,
): Executed {
  const ticket = state.tickets.find((candidate) => candidate.id === id);
  if (ticket === undefined) return fail(state, 'no such ticket');
  if (ticket.closed) return fail(state, 'the ticket is closed');
  const changed = { ...ticket, ...change };
  return ok(
    { ...state, tickets: state.tickets.map((candidate) => (candidate.id === id ? changed : candidate)) },
    changed,
  );
}

const tool = <Made>(
  description: string,
  parameters: { [Name in keyof Made]: z.ZodType<Made[Name]> },
  run: (state: ServiceState, made: Made) => Executed,
  reads?: true,
): ServiceTool => ({
  description,
  parameters,
  schema: z.strictObject(parameters),
  run: run as unknown as ServiceTool['run'],
  ...(reads && { reads }),
});

const id = z.int().min(1).max(999);
const priority = z.enum(priorities);

export const serviceTools: Readonly<Record<string, ServiceTool>> = {
  list_files: tool<{ folder: string }>(
    'Names of the files in a folder.',
    { folder: word },
    (state, { folder }) =>
      ok(
        state,
        state.files
          .filter((file) => file.folder === folder)
          .map(({ name }) => name)
          .sort(),
      ),
    true,
  ),
  read_file: tool<{ folder: string; name: string }>(
    'Text of a file.',
    { folder: word, name: word },
    (state, { folder, name }) => {
      const file = placed(state, folder, name);
      return file === undefined ? fail(state, 'no such file') : ok(state, file.text);
    },
    true,
  ),
  write_file: tool<{ folder: string; name: string; text: string }>(
    'Writes a text into a file, which is made if it is missing.',
    { folder: word, name: word, text: line },
    (state, file) => {
      const files = [...without(state, file.folder, file.name), file];
      return files.length > limit
        ? fail(state, 'no room for more files')
        : ok({ ...state, files }, 'written');
    },
  ),
  move_file: tool<{ folder: string; name: string; to: string }>(
    'Moves a file into another folder.',
    { folder: word, name: word, to: word },
    (state, { folder, name, to }) => {
      const file = placed(state, folder, name);
      if (file === undefined) return fail(state, 'no such file');
      if (placed(state, to, name) !== undefined) return fail(state, 'the folder has a file of that name');
      return ok({ ...state, files: [...without(state, folder, name), { ...file, folder: to }] }, 'moved');
    },
  ),
  delete_file: tool<{ folder: string; name: string }>(
    'Deletes a file.',
    { folder: word, name: word },
    (state, { folder, name }) =>
      placed(state, folder, name) === undefined
        ? fail(state, 'no such file')
        : ok({ ...state, files: without(state, folder, name) }, 'deleted'),
  ),
  send_message: tool<{ to: string; text: string }>(
    'Sends somebody a message.',
    { to: word, text: line },
    (state, message) =>
      state.messages.length === limit
        ? fail(state, 'no room for more messages')
        : ok({ ...state, messages: [...state.messages, message] }, 'sent'),
  ),
  open_ticket: tool<{ title: string; priority: (typeof priorities)[number] }>(
    'Opens a ticket.',
    { title: line, priority },
    (state, ticket) => {
      if (state.tickets.length === limit) return fail(state, 'no room for more tickets');
      const opened = {
        id: 1 + Math.max(0, ...state.tickets.map((before) => before.id)),
        ...ticket,
        closed: false,
      };
      return opened.id > 999
        ? fail(state, 'no number is left')
        : ok({ ...state, tickets: [...state.tickets, opened] }, opened);
    },
  ),
  list_tickets: tool<Record<string, never>>('All tickets.', {}, (state) => ok(state, state.tickets), true),
  set_priority: tool<{ id: number; priority: (typeof priorities)[number] }>(
    'Sets the priority of a ticket.',
    { id, priority },
    (state, { id: number, ...change }) => changeTicket(state, number, change),
  ),
  close_ticket: tool<{ id: number }>('Closes a ticket.', { id }, (state, { id: number }) =>
    changeTicket(state, number, { closed: true }),
  ),
};

export interface ServiceCall {
  name: string;
  arguments: Readonly<Record<string, unknown>>;
}

/** Executes a call: what a model wrote, so its name, its arguments and their types are checked first. */
export function execute(state: ServiceState, { name, arguments: made }: ServiceCall): Executed {
  const called = Object.hasOwn(serviceTools, name) ? serviceTools[name]! : undefined;
  if (called === undefined) return fail(state, 'no such tool');
  const parsed = called.schema.safeParse(made);
  if (!parsed.success) return fail(state, 'wrong arguments');
  return called.run(state, parsed.data as Record<string, never>);
}

/** A state up to the order in which things came to be in it. */
export function comparable({ files, messages, tickets }: ServiceState): string {
  const sorted = (items: readonly object[]): string[] =>
    items.map((item) => JSON.stringify(Object.entries(item).toSorted())).toSorted();
  return JSON.stringify([sorted(files), messages.map(({ to, text }) => [to, text]), sorted(tickets)]);
}
