import { describe, expect, it, vi } from 'vitest';
import { randomStream } from '../../src/numerics/random.ts';
import type { CallsTask } from '../../src/worlds/calls/task-schema.ts';
import { applyWording, namesArguments, shortForm, wordPlainly } from '../../src/worlds/calls/wording.ts';
import { loaded, reasonOf, shippedWorld, tasksOf } from './json-tasks-support.ts';

const tools: CallsTask['tools'] = [
  {
    name: 'book_train',
    description: 'Books a train.',
    parameters: {
      to: { type: 'string' },
      seats: { type: 'integer' },
      quiet: { type: 'boolean' },
      meal: { type: 'string', enum: ['vegan', 'usual'] },
      stops: { type: 'array', items: { type: 'string' } },
    },
    required: ['to', 'seats'],
  },
];
const taskWith = (made: Record<string, never> | object): CallsTask =>
  wordPlainly({ tools, calls: [{ name: 'book_train', arguments: made as never }] });
const task = taskWith({ to: 'Oslo', seats: 12, quiet: true, stops: ['Halden', 'Moss'] });

describe('the words of a task', () => {
  it.each([
    ['Twelve, that is 12 seats to Oslo by Halden and moss, quiet, yes please.', true],
    ['12 seats to Oslo with a stop in Halden and in Moss, in the quiet part.', true],
    ['12 seats to Bergen by Halden and Moss, quiet, yes.', false],
    ['Seats to Oslo by Halden and Moss, quiet, yes.', false],
    ['12 seats to Oslo by Halden, quiet, yes.', false],
    ['12 seats to Oslo by Halden and Moss.', false],
    ['12 or 13 seats to Oslo by Halden and Moss, quiet, yes.', false],
    ['12 seats to Oslo by Halden and Moss, quiet, yes, and a vegan meal.', false],
    ['12 seats to Osloer Hof by Halden and Moss, quiet, yes.', false],
  ])('name its arguments: %s', (request, named) => {
    expect(namesArguments(request, task)).toBe(named);
    expect(applyWording(task, ` ${request}\n`)?.dialogue).toEqual(
      named ? [{ role: 'user', content: request }] : undefined,
    );
  });

  it('are read once, however many arguments there are', () => {
    const stops = Array.from({ length: 50 }, () => 'Halden-Moss');
    const request = '12 seats to Oslo-Sentrum by Halden-Moss';
    using replace = vi.spyOn(String.prototype, 'replace');
    expect(namesArguments(request, taskWith({ to: 'Oslo-Sentrum', seats: 12, stops }))).toBe(true);
    expect(replace.mock.contexts.filter((text) => String(text) === request)).toHaveLength(1);
  });

  it('are well formed where a description is cut inside a surrogate pair', () => {
    const [tool] = tools;
    const long = [{ ...tool!, description: `${'x'.repeat(199)}😀 and more` }];
    const { dialogue } = wordPlainly({ tools: long, calls: [{ name: 'book_train', arguments: {} }] });
    expect(dialogue[0]!.content).toBe(`Please do this. ${'x'.repeat(199)}\ufffd.`);
  });

  it('are the code’s own if no model words them, and say all', () => {
    expect(task.dialogue[0]!.content).toBe(
      'Please do this. Books a train (to: Oslo; seats: 12; quiet: yes; stops: ["Halden","Moss"]).',
    );
    expect(namesArguments(task.dialogue[0]!.content, task)).toBe(true);
    expect(shortForm(task)).toEqual({
      tools,
      calls: [
        { name: 'book_train', arguments: { to: 'Oslo', seats: 12, quiet: true, stops: ['Halden', 'Moss'] } },
      ],
    });
  });

  it('are refused empty or endless', () => {
    expect(applyWording(task, '  \n')).toBeUndefined();
    expect(applyWording(task, `12 Oslo Halden Moss quiet yes ${'x'.repeat(2000)}`)).toBeUndefined();
  });
});

describe('the world of calls with words of a model', () => {
  it('takes tools and calls alone, has no vote, and is solved by its calls', async () => {
    const world = await loaded({ type: 'calls', tasksFile: { path: tasksOf('calls') }, wording: {} });
    expect(world.vote).toBeUndefined();
    const parsed = world.parseTask(JSON.stringify(shortForm(task)));
    expect(parsed).toMatchObject({ valid: true });
    const spec = (parsed as { spec: string }).spec;
    expect(world.score(spec, world.referenceAnswer(spec)).reward).toBe(1);
    expect(world.parseTask(spec)).toEqual({ valid: true, spec });
    expect(reasonOf(await shippedWorld('calls'), shortForm(task))).toBe('wrong_schema');
    expect(reasonOf(world, { ...shortForm(task), calls: [{ name: 'fly', arguments: {} }] })).toBe(
      'unknown_tool',
    );
    expect(
      reasonOf(world, {
        tools,
        calls: [
          {
            name: 'book_train',
            arguments: { to: 'x', seats: 1, stops: Array.from({ length: 3 }, () => 'y'.repeat(900)) },
          },
        ],
      }),
    ).toBe('too_long');
  });

  it('asks for words with every base task of its file', async () => {
    const world = await loaded({ type: 'calls', tasksFile: { path: tasksOf('calls') }, wording: {} });
    for (const spec of world.baseTasks(randomStream(0))) {
      expect(world.wording!.prompt(spec)).toContain('Calls that it must make');
      expect(world.wording!.apply(spec, 'Please.')).toBeUndefined();
    }
  });
});
