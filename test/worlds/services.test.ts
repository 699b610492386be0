import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { randomStream } from '../../src/numerics/random.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { TraceRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { requestsOf } from '../../src/worlds/services/requests.ts';
import type { ServicesTask } from '../../src/worlds/services/task.ts';
import { worldSettings } from '../../src/worlds/settings.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import { pretrainedModel } from '../activities/some-run.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { reasonOf, specOf } from './json-tasks-support.ts';

const world = createWorld(worldSettings.parse({ type: 'services' }));
const read = { name: 'read_file', arguments: { folder: 'docs', name: 'plan.txt' } };
const task: ServicesTask = {
  state: {
    files: [{ folder: 'docs', name: 'plan.txt', text: 'the roof leaks' }],
    messages: [],
    tickets: [{ id: 4, title: 'a gate', priority: 'low', closed: false }],
  },
  turns: [
    [read, { name: 'send_message', arguments: { to: 'Ada', text: '$1' } }],
    [{ name: 'close_ticket', arguments: { id: 4 } }],
  ],
};
const spec = specOf(world, task);
const right = [
  "[read_file(folder='docs', name='plan.txt')]",
  "[send_message(text='the roof leaks', to='Ada')]",
  'done',
  '[close_ticket(id=4)]',
  'done',
];
const reward = (actions: readonly string[]) => world.score(spec, actions.join('\n')).reward;

describe('a task of services', () => {
  it('asks in the code’s words for what its program does', () => {
    expect(requestsOf(task)).toEqual([
      'What does plan.txt in the folder docs say? Then send Ada the message the very text of plan.txt in the folder docs.',
      'Close ticket 4.',
    ]);
    expect(world.agentPrompt(spec)).toContain('send_message');
    expect(world.agentPrompt(spec)).not.toContain('the roof leaks');
  });

  it('warms an agent up with rollouts of the label’s program, which read what a rollout reads', () => {
    const short = createWorld(worldSettings.parse({ type: 'services', baseCalls: [1, 3], format: 'chatml' }));
    const rows = [...short.warmUpCorpus('agent', 60, randomStream(5))];
    const drawn = short.baseTasks(randomStream(5));
    for (const [index, { prompt, completion, more = [] }] of rows.slice(0, drawn.length).entries()) {
      const taskSpec = drawn[index]!;
      const actions = [completion, ...more.map(({ write }) => write)];
      expect(prompt).toBe(short.agentPrompt(taskSpec));
      expect(short.score(taskSpec, actions.join('\n')).reward).toBe(1);
      for (const [turn, { read: heard }] of more.entries())
        expect(heard).toBe(short.turns!.observe(taskSpec, actions.slice(0, turn + 1), null).text);
    }
    expect(rows).toHaveLength(60);
    expect([...short.warmUpCorpus('environment', 4, randomStream(5))]).toEqual([]);
  });

  it('is solved by the label’s program, and by any other way into the same states', () => {
    expect(world.referenceAnswer(spec)).toBe(right.join('\n'));
    expect(reward(right)).toBe(1);
    const detour = [
      '[list_tickets()]',
      ...right.slice(0, 1),
      "[send_message(to='Ada', text='the roof leaks')]",
      'I have sent it.',
      ...right.slice(3),
    ];
    expect(reward(detour)).toBe(1);
    expect(world.score(spec, detour.join('\n')).wellFormed).toBe(false);
  });

  it('lists files by name, whatever was done to them', () => {
    const [plan] = task.state.files;
    const files = [{ ...plan!, name: 'notes.txt' }, plan!];
    const list = specOf(world, {
      state: { ...task.state, files },
      turns: [[{ name: 'move_file', arguments: { folder: 'docs', name: 'notes.txt', to: 'photos' } }, read]],
    });
    const back = [
      "[move_file(folder='docs', name='notes.txt', to='photos')]",
      "[move_file(folder='photos', name='notes.txt', to='docs')]",
    ];
    const listed = (before: readonly string[]) =>
      world.turns!.observe(list, [...before, "[list_files(folder='docs')]"], null).text.trim();
    expect(listed([])).toBe('[{"ok":["notes.txt","plan.txt"]}]');
    expect(listed(back)).toBe(listed([]));
  });

  it('has been told what an earlier turn has read, and wants a call in each turn, as in BFCL’s checker', () => {
    const again = specOf(world, { ...task, turns: [...task.turns, [read]] });
    const score = (actions: readonly string[]) => world.score(again, actions.join('\n')).reward;
    expect(score([...right, '[list_tickets()]', 'done'])).toBe(1);
    expect(score([...right, 'done'])).toBe(0);
    expect(score([...right, '[]', 'done'])).toBe(0);
    expect(score([...right.slice(1), '[list_tickets()]', 'done'])).toBe(0);
  });

  describe('with more calls in a turn than steps', () => {
    const short = createWorld(worldSettings.parse({ type: 'services', stepsPerTurn: 2 }));
    const second = { folder: 'docs', name: 'b.txt' };
    const readOther = { name: 'read_file', arguments: second };
    const write = (name: string, text: string) => ({
      name: 'write_file',
      arguments: { folder: 'docs', name, text },
    });
    const tell = (text: string) => ({ name: 'send_message', arguments: { to: 'Ada', text } });
    const turn = (...calls: ServicesTask['turns'][number]): ServicesTask => ({
      state: { ...task.state, files: [...task.state.files, { ...second, text: 'a cable hums' }] },
      turns: [calls],
    });

    it.each([
      ['reads together', [read, tell('$1'), readOther, tell('$3')], ['read read', 'send send']],
      [
        'reads before a change of another file',
        [read, write('c.txt', '$1'), readOther, tell('$3')],
        ['read read', 'write send'],
      ],
      [
        'reads a file after its change',
        [read, tell('$1'), write('b.txt', 'x'), readOther],
        ['read write read', 'send'],
      ],
      ['keeps messages in order', [read, tell('$1'), tell('x'), readOther], ['read read', 'send send']],
    ])('has a right answer that %s', (_, calls, names) => {
      const grouped = specOf(short, turn(...calls));
      const answer = short.referenceAnswer(grouped);
      const lists = answer
        .split('\n')
        .map((list) => (list.match(/[a-z]+(?=_[a-z]+\()/g) ?? [list]).join(' '));
      expect(lists).toEqual([...names, 'done']);
      expect(short.score(grouped, answer)).toEqual({ reward: 1, wellFormed: true });
    });

    it('is refused if its right answer takes too many steps', () => {
      const chained = turn(read, write('b.txt', '$1'), readOther, tell('$3'));
      expect(reasonOf(short, chained)).toBe('unsolvable');
      expect(reasonOf(world, chained)).toBe('valid');
    });
  });

  it('lets an answer reason before its calls, and before its end of a turn', () => {
    const reasoned = right.map((action) => `<think> what next? </think> ${action}`);
    expect(world.score(spec, reasoned.join('\n'))).toEqual({ reward: 1, wellFormed: true });
  });

  it('reads as many calls as a program of all requests could have, so what they give is bounded', () => {
    const tickets = Array.from({ length: 24 }, (_, index) => ({ ...task.state.tickets[0]!, id: index + 1 }));
    const large = specOf(world, { ...task, state: { ...task.state, tickets } });
    const list = (count: number): string => `[${Array<string>(count).fill('list_tickets()').join(', ')}]`;
    const observed = (action: string): string => world.turns!.observe(large, [action], null).text;
    expect(JSON.parse(observed(list(16)).trim())).toHaveLength(16);
    expect(observed(list(17)).trim()).toBe('Close ticket 4.');
    expect(world.score(large, list(17)).wellFormed).toBe(false);
  });

  it.each([
    ['nothing', ['done', 'done']],
    ['a wrong text', right.map((action) => action.replace('leaks', 'hums'))],
    ['a text that was not read', right.slice(1)],
    ['the second request in the first turn', [...right.slice(0, 2), right[3]!, 'done', 'done']],
    ['a message too many', [right[0]!, right[1]!, right[1]!, ...right.slice(2)]],
    ['an end before the last turn', right.slice(0, 3)],
    ['too many steps', [...Array.from({ length: 7 }, () => right[0]!), ...right]],
    ['actions after the end', ['no']],
  ])('is not solved by %s', (_, actions) => {
    expect(reward(actions)).toBe(0);
  });

  it.each([
    ['call_fails', { ...task, turns: [[{ name: 'close_ticket', arguments: { id: 5 } }]] }],
    ['call_fails', { ...task, turns: [[{ name: 'close_ticket', arguments: { id: 4, why: 'x' } }]] }],
    ['unknown_tool', { ...task, turns: [[{ name: 'open_door', arguments: {} }]] }],
    ['unknown_tool', { ...task, turns: [[{ name: 'to_string', arguments: {} }]] }],
    [
      'wrong_reference',
      { ...task, turns: [[{ name: 'send_message', arguments: { to: 'Ada', text: '$1' } }]] },
    ],
    [
      'wrong_reference',
      {
        state: { ...task.state, files: [{ ...task.state.files[0]!, text: 'Ada' }] },
        turns: [[read, { name: 'send_message', arguments: { to: '$1', text: 'x' } }]],
      },
    ],
    [
      'no_effect',
      {
        ...task,
        turns: [
          [
            { name: 'write_file', arguments: { folder: 'docs', name: 'a.txt', text: 'x' } },
            { name: 'delete_file', arguments: { folder: 'docs', name: 'a.txt' } },
          ],
        ],
      },
    ],
    [
      'ambiguous_state',
      { ...task, state: { ...task.state, files: [...task.state.files, ...task.state.files] } },
    ],
    [
      'unsolvable',
      { ...task, turns: [[{ name: 'send_message', arguments: { to: 'Ada', text: 'a</think>' } }]] },
    ],
    ['wrong_schema', { ...task, turns: [] }],
  ])('is refused: %s', (reason, wrong) => {
    expect(reasonOf(world, wrong)).toBe(reason);
  });
});

describe('the world of services', () => {
  it('draws sound tasks of any number of calls, which their reference answers solve and blind ones do not', () => {
    const small = createWorld(worldSettings.parse({ type: 'services', baseTasks: 12, heldOutPerCell: 2 }));
    const specs = [...small.baseTasks(randomStream(1)), ...small.heldOutTasks(randomStream(1))];
    expect(specs).toEqual([...small.baseTasks(randomStream(1)), ...small.heldOutTasks(randomStream(1))]);
    for (let calls = 1; calls <= 12; calls++) {
      const drawn = small.taskAt!(calls, randomStream(calls));
      expect(small.difficulty(drawn)).toBe(calls);
      specs.push(drawn, small.uniformTask!(randomStream(calls)));
    }
    let blind = 0;
    for (const [index, drawn] of specs.entries()) {
      expect(small.parseTask(drawn)).toEqual({ valid: true, spec: drawn });
      expect(small.score(drawn, small.referenceAnswer(drawn))).toEqual({ reward: 1, wellFormed: true });
      const guess = small.score(drawn, small.randomAnswer(drawn, randomStream(index)));
      expect(guess.wellFormed).toBe(true);
      blind += guess.reward;
      expect(small.environmentPrompt(emptyHistory(), drawn)).toContain('Task to vary');
    }
    expect(blind / specs.length).toBeLessThan(0.2);
  });

  it.each([1, 2, 3])('draws tasks that %i answers to a request can solve', (stepsPerTurn) => {
    const short = createWorld(worldSettings.parse({ type: 'services', stepsPerTurn, heldOutPerCell: 20 }));
    for (const drawn of short.heldOutTasks(randomStream(3))) {
      expect(short.parseTask(drawn)).toEqual({ valid: true, spec: drawn });
      expect(short.score(drawn, short.referenceAnswer(drawn))).toEqual({ reward: 1, wellFormed: true });
    }
  });

  it('takes any text for an answer', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, second) => {
        expect([0, 1]).toContain(reward([first, right[0]!, second]));
        expect(() => world.renderAnswer(first)).not.toThrow();
      }),
    );
  });
});

it('is played turn by turn: results after calls, the next request after the end of a turn', async () => {
  const model = await pretrainedModel();
  const player: FakeModel = (prompt, _, name) => {
    if (name.startsWith('environment')) return JSON.stringify(task);
    return right[prompt.split('\0').length - 1] ?? 'done';
  };
  const server = await FakeModelServer.start({ model: player, seedRule: 'embedded' });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const file = withFields(exampleFile, {
    epochs: 1,
    world: { type: 'services', baseTasks: 4, heldOutPerCell: 1, heldOutCalls: [1, 2] },
    'agent.model': model,
    'environment.model': model,
    'agent.sampling.maxTokens': 200,
    'environment.sampling.maxTokens': 2000,
    'environment.promptsPerEpoch': 2,
    'environment.variationsPerPrompt': 1,
    'agent.rolloutsPerTask': 2,
    'agent.training.minInformativeGroups': 1,
  });
  const dependencies = plainDependencies(await temporaryFolder(), server.url, new FakeTrainer());
  const activities = createActivities(dependencies);
  const { plan, prepared } = await begin(activities, 'services', file);
  const { metrics } = await plainEpoch(activities, plan, prepared);
  expect(metrics['env/success_rate']).toBe(1);
  const opened = await dependencies.runFolder('services').open<LedgerEntry>();
  const line = (await opened!.ledger.read()).at(-1)!;
  const shards = await Promise.all(
    line.outputs.traces.map((ref) => collect(dependencies.store.records<TraceRecord>(ref))),
  );
  const [trace] = shards.flat().filter(({ role }) => role === 'agent');
  expect(trace!.turns!.map(({ action, observation }) => [action, observation])).toEqual([
    [right[0], '\n[{"ok":"the roof leaks"}]\n'],
    [right[1], '\n[{"ok":"sent"}]\n'],
    ['done', '\nClose ticket 4.\n'],
    [right[3], '\n[{"ok":{"closed":true,"id":4,"priority":"low","title":"a gate"}}]\n'],
    ['done', null],
  ]);
});
