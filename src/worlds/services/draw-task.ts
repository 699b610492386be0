import type { RandomStream } from '../../numerics/random.ts';
import { execute, priorities } from './backend.ts';
import type { ServiceState } from './backend.ts';
import { label, validateServicesTask } from './task.ts';
import type { ProgramCall, ServicesTask } from './task.ts';

const folders = ['docs', 'photos', 'bills', 'drafts', 'music'];
const fileNames = ['plan.txt', 'notes.txt', 'list.md', 'rent.csv', 'trip.txt', 'menu.txt', 'ideas.md'];
const people = ['Ada', 'Bo', 'Cem', 'Dina', 'Elif', 'Finn'];
const topics = ['the roof', 'the lift', 'a cable', 'the heating', 'the gate', 'a window', 'the printer'];
const faults = ['leaks', 'is stuck', 'hums', 'is late', 'is broken', 'needs paint'];

const MAX_TURNS = 4;
const MAX_TRIES = 400;

const drawText = (random: RandomStream): string => `${random.pick(topics)} ${random.pick(faults)}`;

/** A sound task whose programs have so many calls together: the built-in base and held-out tasks. */
export function drawServicesTask(
  calls: number,
  random: RandomStream,
  isSolvable: (task: ServicesTask) => boolean,
): ServicesTask {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const task = drawTask(calls, random);
    if (task !== undefined && validateServicesTask(task) === undefined && isSolvable(task)) return task;
  }
  throw new RangeError(`no task of ${calls} calls was drawn in ${MAX_TRIES} tries`);
}

function drawTask(calls: number, random: RandomStream): ServicesTask | undefined {
  const state = drawState(random);
  const count = Math.min(
    MAX_TURNS,
    Math.max(Math.ceil(calls / 4), 1 + random.int(Math.min(MAX_TURNS, calls))),
  );
  const turns: ProgramCall[][] = Array.from({ length: count }, () => []);
  let current = state;
  for (const [index, turn] of turns.entries()) {
    const left = calls - turns.flat().length;
    const later = count - index - 1;
    const fewest = Math.max(1, left - 4 * later);
    const size = later === 0 ? left : fewest + random.int(Math.min(4, left - later) - fewest + 1);
    while (turn.length < size) {
      const call = drawCall(current, turn, random);
      turn.push(call);
      const labels = label({ state: current, turns: [turn] });
      if (labels === undefined || labels[0]!.results.some((result) => 'error' in result)) turn.pop();
    }
    current = label({ state: current, turns: [turn] })![0]!.state;
  }
  return { state, turns };
}

function drawState(random: RandomStream): ServiceState {
  const places = random
    .shuffle(folders.flatMap((folder) => fileNames.map((name) => ({ folder, name }))))
    .slice(0, 4);
  const start: ServiceState = {
    files: places.map((place) => ({ ...place, text: drawText(random) })),
    messages: [],
    tickets: [],
  };
  return Array.from({ length: 2 + random.int(2) }).reduce<ServiceState>(
    (state) =>
      execute(state, {
        name: 'open_ticket',
        arguments: { title: drawText(random), priority: random.pick(priorities) },
      }).state,
    start,
  );
}

/** A call that may fail; a text is now and then one that an earlier call of the turn has read. */
export function drawCall(
  state: ServiceState,
  turn: readonly ProgramCall[],
  random: RandomStream,
): ProgramCall {
  const file = state.files.length === 0 ? { folder: 'docs', name: 'plan.txt' } : random.pick(state.files);
  const { folder, name } = file;
  const read = turn.findIndex((call) => call.name === 'read_file');
  const text = read !== -1 && random.int(2) === 0 ? `$${read + 1}` : drawText(random);
  const id = state.tickets.length === 0 ? 1 : random.pick(state.tickets).id;
  const made = random.pick<ProgramCall>([
    { name: 'list_files', arguments: { folder } },
    { name: 'read_file', arguments: { folder, name } },
    { name: 'read_file', arguments: { folder, name } },
    { name: 'write_file', arguments: { folder: random.pick(folders), name: random.pick(fileNames), text } },
    { name: 'move_file', arguments: { folder, name, to: random.pick(folders) } },
    { name: 'delete_file', arguments: { folder, name } },
    { name: 'send_message', arguments: { to: random.pick(people), text } },
    { name: 'send_message', arguments: { to: random.pick(people), text } },
    { name: 'open_ticket', arguments: { title: drawText(random), priority: random.pick(priorities) } },
    { name: 'list_tickets', arguments: {} },
    { name: 'set_priority', arguments: { id, priority: random.pick(priorities) } },
    { name: 'close_ticket', arguments: { id } },
  ]);
  return made;
}
