import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { writeJsonCalls, writePythonCalls } from '../../src/worlds/calls/call-formats.ts';
import type { CallsTask } from '../../src/worlds/calls/task-schema.ts';
import { cutTrace } from '../../src/worlds/calls/traces.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { loaded, reasonOf, shippedWorld, tasksOf } from './json-tasks-support.ts';
import { cpuSeconds } from '../../test-support/cpu-seconds.ts';

const random = randomStream(0);
const tools = [
  { name: 'look', description: 'Looks.', parameters: { at: { type: 'string' } }, required: ['at'] },
  { name: 'take', description: 'Takes.', parameters: { thing: { type: 'string' } }, required: ['thing'] },
];
const call = (name: string, made: object) => ({ name, arguments: made });
const trace = {
  tools,
  messages: [
    { role: 'user', content: 'What is on the shelf? Take the oldest.' },
    { role: 'assistant', content: 'I look.', calls: [call('look', { at: 'shelf' })] },
    { role: 'tool', content: 'a vase of 1800, a bowl of 1750' },
    { role: 'assistant', calls: [call('take', { thing: 'bowl' })] },
    { role: 'tool', content: 'taken' },
    { role: 'assistant', content: 'I have the bowl.' },
  ],
};

const tracedWorld = async (traces: readonly unknown[], rest: object = {}, split: object = {}) => {
  const path = join(await temporaryFolder(), 'traces.jsonl');
  await writeFile(path, traces.map((line) => JSON.stringify(line)).join('\n'));
  return loaded({ type: 'calls', tasksFile: { path, form: 'traces', ...split }, ...rest });
};

describe('an expert’s trace', () => {
  it('is cut into a task for each action: the history before it, and the action as its label', () => {
    expect(cutTrace(JSON.stringify(trace), writePythonCalls)).toEqual([
      {
        step: 1,
        task: {
          dialogue: [trace.messages[0]],
          tools,
          calls: [{ name: 'look', arguments: { at: ['shelf'] } }],
        },
      },
      {
        step: 2,
        task: {
          dialogue: [
            trace.messages[0],
            { role: 'assistant', content: "I look.\n[look(at='shelf')]" },
            trace.messages[2],
          ],
          tools,
          calls: [{ name: 'take', arguments: { thing: ['bowl'] } }],
        },
      },
    ]);
  });

  it('shows earlier actions as the agent itself writes them', () => {
    const steps = cutTrace(JSON.stringify(trace), writeJsonCalls) as { task: CallsTask }[];
    expect(steps[1]!.task.dialogue[1]!.content).toBe(
      'I look.\n<tool_call>\n{"name":"look","parameters":{"at":"shelf"}}\n</tool_call>',
    );
  });

  it.each([
    ['no JSON', 'x', 'it is no trace (not_json)'],
    ['no calls', { tools, messages: [trace.messages[0], trace.messages[5]] }, 'no message has calls'],
    [
      'an empty action',
      { tools, messages: [trace.messages[0], { role: 'assistant' }] },
      'messages.1: expected content',
    ],
    [
      'an unknown role',
      { tools, messages: [{ role: 'system', content: 'x' }, trace.messages[1]] },
      'messages.0.role',
    ],
  ])('is refused with %s', (_, line, problem) => {
    const text = typeof line === 'string' ? line : JSON.stringify(line);
    expect(cutTrace(text, writePythonCalls)).toEqual({ problem: expect.stringContaining(problem) as string });
  });
});

describe('the world of calls on traces', () => {
  it.each(['bfcl', 'api-bank'] as const)(
    'has base and held-out tasks of different traces, in the style %s',
    async (style) => {
      const world = await shippedTraces(style);
      const [base, heldOut] = [world.baseTasks(random), world.heldOutTasks(random)];
      expect(base.length + heldOut.length).toBe(15);
      const opening = (spec: string) => (JSON.parse(spec) as CallsTask).dialogue[0]!.content;
      const seen = new Set(base.map(opening));
      expect(heldOut.length).toBeGreaterThan(1);
      expect(heldOut.some((spec) => seen.has(opening(spec)))).toBe(false);
      for (const spec of [...base, ...heldOut]) {
        expect(world.score(spec, world.referenceAnswer(spec)).reward).toBe(1);
        expect(world.parseTask(spec)).toEqual({ valid: true, spec });
      }
    },
  );

  it('takes tasks that end with a tool’s answer, which it else does not', async () => {
    const [, second] = cutTrace(JSON.stringify(trace), writePythonCalls) as { task: CallsTask }[];
    const world = await shippedTraces('bfcl');
    expect(reasonOf(world, second!.task)).toBe('valid');
    expect(world.environmentPrompt(emptyHistory(), world.baseTasks(random)[0]!)).toContain(
      'answer of a tool',
    );
    expect(reasonOf(await shippedWorld('calls'), second!.task)).toBe('no_request');
  });

  it('leaves an action out that the history holds already: it could be copied', async () => {
    const twice = [...trace.messages.slice(0, 3), trace.messages[1]!, ...trace.messages.slice(2)];
    const short = {
      tools,
      messages: [
        { role: 'user', content: 'Look up.' },
        { role: 'assistant', calls: [call('look', { at: 'sky' })] },
      ],
    };
    const world = await tracedWorld([{ tools, messages: twice }, short]);
    expect(world.baseTasks(random).length + world.heldOutTasks(random).length).toBe(3);
  });

  it.each([
    ['more messages than a task has', 12, 'x', 10],
    ['longer texts than a task has', 10, 'x'.repeat(1900), 5],
  ])('leaves actions out whose history has %s', async (_, steps, said, left) => {
    const messages = Array.from({ length: steps }, (_unused, step) => [
      { role: step === 0 ? 'user' : 'tool', content: said },
      { role: 'assistant', content: said, calls: [call('look', { at: `shelf ${step}` })] },
    ]).flat();
    const world = await tracedWorld([trace, { tools, messages }]);
    expect(world.baseTasks(random).length + world.heldOutTasks(random).length).toBe(2 + left);
  });

  it.each([
    ['user', 0, 'x'.repeat(2500)],
    ['tool', 1, 'x'.repeat(2500)],
    ['tool', 1, '{'.repeat(300_000)],
  ])('leaves actions out after a message of the %s that is too long, soon', async (role, left, content) => {
    const messages = [{ role: 'user', content: 'What is there?' }, ...trace.messages.slice(1, 4)].map(
      (message) => (message.role === role ? { ...message, content } : message),
    );
    const short = { tools, messages: [{ role: 'user', content: 'Look up.' }, trace.messages[1]] };
    const seconds = await cpuSeconds(async () => {
      const world = await tracedWorld([trace, short, { tools, messages }]);
      expect(world.baseTasks(random).length + world.heldOutTasks(random).length).toBe(3 + left);
    });
    expect(seconds).toBeLessThan(5);
  });

  it('leaves an action out after a message that is too long with its calls', async () => {
    const messages = [
      { role: 'user', content: 'What is there?' },
      { role: 'assistant', content: 'x'.repeat(1990), calls: [call('look', { at: 'shelf' })] },
      ...trace.messages.slice(2),
    ];
    const world = await tracedWorld([trace, { tools, messages }]);
    expect(world.baseTasks(random).length + world.heldOutTasks(random).length).toBe(3);
  });

  it('has base and held-out tasks of any two traces, also if one of them begins the other', async () => {
    const begun = { tools, messages: trace.messages.slice(0, 2) };
    for (const traces of [
      [trace, begun],
      [begun, trace],
    ])
      for (const heldOut of [0.1, 0.9]) {
        const world = await tracedWorld(traces, {}, { heldOut });
        const [base, held] = [world.baseTasks(random), world.heldOutTasks(random)];
        // The second prompt shows the first one's label, so the first is no held-out task beside it.
        expect(base.map((spec) => (JSON.parse(spec) as CallsTask).dialogue.length)).toEqual([1]);
        expect(held.map((spec) => (JSON.parse(spec) as CallsTask).dialogue.length)).toEqual([3]);
      }
  });

  it('shows no label of a held-out task in a base prompt, whatever traces share', async () => {
    const traces = ['lamp', 'desk', 'floor'].map((at) => ({
      tools,
      messages: [...trace.messages.slice(0, 3), { role: 'assistant', calls: [call('look', { at })] }],
    }));
    for (const heldOut of [0.1, 0.5, 0.9]) {
      const world = await tracedWorld(traces, {}, { heldOut });
      const [base, held] = [world.baseTasks(random), world.heldOutTasks(random)].map((specs) =>
        specs.map((spec) => (JSON.parse(spec) as CallsTask).dialogue.length),
      );
      expect(base).toContain(1);
      expect(held).not.toContain(1);
      expect(base!.length + held!.length).toBe(4);
    }
  });

  it('takes the very action of the expert, which may have given an empty text', async () => {
    const messages = [trace.messages[0]!, { role: 'assistant', calls: [call('note', { text: '' })] }];
    const note = {
      name: 'note',
      description: 'Notes.',
      parameters: { text: { type: 'string' } },
      required: [],
    };
    const world = await tracedWorld([trace, { tools: [note], messages }]);
    const specs = [...world.baseTasks(random), ...world.heldOutTasks(random)];
    const spec = specs.find((each) => each.includes('Notes.'))!;
    expect(world.score(spec, "[note(text='')]").reward).toBe(1);
    expect(world.score(spec, '[note()]').reward).toBe(1);
  });

  it('names line and action of what is no task', async () => {
    const wrong = structuredClone(trace);
    wrong.messages[3]!.calls = [call('drop', { thing: 'bowl' })];
    await expect(tracedWorld([trace, wrong])).rejects.toThrow(
      /traces\.jsonl line 2: action 2: it is no task \(unknown_tool\)/,
    );
    await expect(tracedWorld([trace, trace])).rejects.toThrow('1 distinct traces; expected at least 2');
  });
});

const shippedTraces = (style: 'bfcl' | 'api-bank') =>
  loaded({ type: 'calls', style, tasksFile: { path: tasksOf('traces'), form: 'traces' } });
