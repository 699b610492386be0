import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { alfworld } from '../../src/benchmarks/alfworld/alfworld.ts';
import type { OpenAlfworld } from '../../src/benchmarks/alfworld/alfworld.ts';
import { AlfworldEngine } from '../../src/benchmarks/alfworld/engine.ts';
import type { GameState } from '../../src/benchmarks/alfworld/engine.ts';
import type { EpisodeResponse } from '../../src/benchmarks/alfworld/episodes.ts';
import type { AlfworldCase } from '../../src/benchmarks/alfworld/games.ts';
import { episodeVerdict } from '../../src/benchmarks/alfworld/judge.ts';
import { enginePython } from '../../src/benchmarks/registry.ts';
import { SidecarFailed } from '../../src/benchmarks/suite.ts';
import { processesWith } from '../../test-support/processes.ts';
import { answer, prompted, scripted, shippedHost } from './attempt.ts';

const python = await enginePython('alfworld');
const why =
  python === null ? ' (skipped: its engine is not installed; `npm run test:alfworld` installs it)' : '';
if (python === null) console.warn(`ALFWorld's games${why}`);
const { signal } = new AbortController();

async function opened(name: string): Promise<OpenAlfworld> {
  const suite = alfworld.suites.find((candidate) => candidate.name === name)!;
  const open = await suite.open({ ...shippedHost, enginePython }, prompted);
  if ('missing' in open) throw new Error(open.missing);
  return open as unknown as OpenAlfworld;
}

const walkthroughOf = ({ walkthrough }: AlfworldCase): string[] => [...walkthrough!];

describe.skipIf(python === null)(`the golden table of ALFWorld${why}`, { timeout: 300_000 }, () => {
  let engine: AlfworldEngine;
  let games: readonly AlfworldCase[];
  beforeAll(async () => {
    engine = await AlfworldEngine.open(python!);
    const suite = await opened('alfworld_own_admissible');
    games = suite.cases;
    await suite.close();
  });
  afterAll(() => engine.close());

  /** Games won by the rule. */
  async function won(
    commandsOf: (walkthrough: string[]) => string[],
    rule: 'success' | 'strict',
  ): Promise<number> {
    let count = 0;
    for (const item of games) {
      const response = { commands: commandsOf(walkthroughOf(item)), tooLong: false };
      const { scores } = await episodeVerdict(engine, item, response, signal);
      count += scores[rule]!;
    }
    return count;
  }
  const looks = (count: number): string[] => Array.from({ length: count }, () => 'look');
  const old = (steps: string[]): string[] =>
    steps.map((step) => step.replace(/^move (.*) to (.*)$/, 'put $1 in/on $2'));
  const capitalised = (steps: string[]): string[] =>
    steps.map((step) => step[0]!.toUpperCase() + step.slice(1));
  const stopped = (steps: string[]): string[] => steps.map((step) => `${step}.`);

  test.each<[string, number, (steps: string[]) => string[]]>([
    ['walkthrough', 11, (steps) => steps],
    ['walkthrough without its last action', 0, (steps) => steps.slice(0, -1)],
    ['"move X to Y" written "put X in/on Y"', 2, old],
    ['without "open ..."', 4, (steps) => steps.filter((step) => !step.startsWith('open '))],
    ['"look", "inventory", walkthrough', 11, (steps) => ['look', 'inventory', ...steps]],
    ['capitalised', 0, capitalised],
    ['with a trailing "."', 0, stopped],
    [
      '50-n times "look", then the n-step walkthrough',
      11,
      (steps) => [...looks(50 - steps.length), ...steps],
    ],
    ['51-n times "look", then the walkthrough', 0, (steps) => [...looks(51 - steps.length), ...steps]],
    ['only "look"', 0, () => looks(50)],
  ])('%s: %i of 11, as it stands', async (_, expected, commandsOf) =>
    expect(await won(commandsOf, 'strict')).toBe(expected),
  );

  // What the suites judge by: the same replay, of normalised commands.
  test.each<[string, number, (steps: string[]) => string[]]>([
    ['"move X to Y" written "put X in/on Y"', 11, old],
    ['capitalised', 11, capitalised],
    ['with a trailing "."', 11, stopped],
    ['walkthrough without its last action', 0, (steps) => steps.slice(0, -1)],
  ])('%s: %i of 11, normalised', async (_, expected, commandsOf) =>
    expect(await won(commandsOf, 'success')).toBe(expected),
  );
});

describe.skipIf(python === null)(`ALFWorld's games${why}`, { timeout: 120_000 }, () => {
  let suite: OpenAlfworld;
  let engine: AlfworldEngine;
  beforeAll(async () => {
    suite = await opened('alfworld_own_admissible');
    engine = await AlfworldEngine.open(python!);
  });
  afterAll(async () => {
    await suite.close();
    await engine.close();
  });

  const describeState = ({ observation, admissible, won }: GameState): string =>
    [observation, ...admissible, won ? 'won' : 'not won', ''].join('\n');

  it('tell what they tell without our shortcuts', async () => {
    const hash = createHash('sha256');
    for (const item of suite.cases) {
      await using episode = await engine.begin(item.file, signal);
      hash.update(describeState(episode.state));
      for (const step of walkthroughOf(item))
        for (const command of [step, 'look', 'inventory', 'nonsense'])
          hash.update(describeState(await episode.step(command)));
    }
    // Of the packages as they are, asked the same.
    expect(hash.digest('hex')).toBe('08f5598891f87a29b6629ed58e295abc78c1592a1ee6a1b254f8f5d7cdf2623f');
  });
  it('do not touch each other, the same game least of all', async () => {
    const [first, second] = suite.cases as [AlfworldCase, AlfworldCase];
    const alone = async (item: AlfworldCase): Promise<string[]> => {
      await using episode = await engine.begin(item.file, signal);
      const heard = [describeState(episode.state)];
      for (const command of walkthroughOf(item)) heard.push(describeState(await episode.step(command)));
      return heard;
    };
    const expected = [await alone(first), await alone(second)];
    await using firstEpisode = await engine.begin(first.file, signal);
    await using secondEpisode = await engine.begin(second.file, signal);
    await using idle = await engine.begin(first.file, signal);
    const heard = [[describeState(firstEpisode.state)], [describeState(secondEpisode.state)]];
    for (let step = 0; step < 50; step++) {
      const [a, b] = [walkthroughOf(first)[step], walkthroughOf(second)[step]];
      const [x, y] = await Promise.all([
        a === undefined ? null : firstEpisode.step(a),
        b === undefined ? null : secondEpisode.step(b),
      ]);
      if (x !== null) heard[0]!.push(describeState(x));
      if (y !== null) heard[1]!.push(describeState(y));
    }
    expect(heard).toEqual(expected);
    expect(await idle.step('inventory')).toMatchObject({
      observation: 'You are not carrying anything.',
      won: false,
    });
  });
  it('an attempt ends with the win; its admissible commands are in sight', async () => {
    const item = suite.cases[0]!;
    const { tools, questions } = scripted(
      walkthroughOf(item).map((command) =>
        answer(`<think>Action: look</think>Action: ${command.toUpperCase()}.`),
      ),
    );
    const response = await suite.attempt(item, tools);
    expect(questions).toHaveLength(item.walkthrough!.length);
    for (const [index, { messages }] of questions.entries())
      expect(messages.at(-1)!.content.split('\n')).toContain(item.walkthrough![index]);
    expect(await suite.judge([{ item, response }], signal)).toEqual([
      {
        correct: true,
        // The game takes no capitals and no full stop.
        scores: { success: 1, strict: 0 },
        reason: null,
        detail: { taskType: item.taskType, steps: item.walkthrough!.length },
      },
    ]);
  });
  it('the first win ends a game: what would undo it is not played', async () => {
    const item = suite.cases.find(({ id }) => id.startsWith('pick_and_place_simple-Mug'))!;
    const response = { commands: [...walkthroughOf(item), 'take mug 1 from shelf 3'], tooLong: false };
    expect(await suite.judge([{ item, response }], signal)).toMatchObject([
      { correct: true, detail: { steps: item.walkthrough!.length } },
    ]);
  });
  it('an attempt ends after 50 steps, whatever is written', async () => {
    const item = suite.cases[0]!;
    const odd = [
      '',
      '\ud800',
      'Action: put',
      '{"command": "look"}',
      '__import__("os").abort()',
      '</action>',
      'x'.repeat(10_000),
    ];
    const { tools, questions } = scripted(
      Array.from({ length: 60 }, (_, index) => answer(odd[index % odd.length]!)),
    );
    const response = JSON.parse(JSON.stringify(await suite.attempt(item, tools))) as EpisodeResponse;
    expect(questions).toHaveLength(50);
    expect(questions[1]!.messages.at(-1)!.content).toMatch(/^Nothing happens\./);
    expect(await suite.judge([{ item, response }], signal)).toMatchObject([
      { correct: false, reason: 'out_of_steps', detail: { steps: 50 } },
    ]);
  });
  it('an attempt ends where the conversation is too long for the policy', async () => {
    const item = suite.cases[0]!;
    const { tools } = scripted([answer('look'), { ...answer(''), finish_reason: 'prompt_too_long' }]);
    const response = await suite.attempt(item, tools);
    expect(response).toEqual({ commands: ['look'], tooLong: true });
    expect(await suite.judge([{ item, response }], signal)).toMatchObject([
      { correct: false, reason: 'prompt_too_long', detail: { steps: 1 } },
    ]);
  });
  it('the open setting lists no commands', async () => {
    const open = await opened('alfworld_own_open');
    const item = open.cases[0]!;
    const { tools, questions } = scripted(walkthroughOf(item).map((command) => answer(command)));
    await open.attempt(item, tools);
    await open.close();
    expect(questions.at(-1)!.messages.at(-1)!.content).not.toContain('Admissible commands');
  });
  test.each(['alfworld_own_admissible', 'alfworld_own_by_step'])(
    '%s: gold is right in all games',
    async (name) => {
      const open = await opened(name);
      const answered = open.cases.map((item) => ({ item, response: open.gold(item)! }));
      const verdicts = await open.judge(answered, signal);
      await open.close();
      const [score] = open.scores(verdicts.map((verdict, index) => ({ id: open.cases[index]!.id, verdict })));
      expect(score).toMatchObject({ value: 1, note: expect.stringContaining('smoke test') as unknown });
    },
  );
  it('by step, the walkthrough continues whatever is chosen', async () => {
    const open = await opened('alfworld_own_by_step');
    const item = open.cases[0]!;
    const { tools, questions } = scripted(
      walkthroughOf(item).map((command, index) => answer(index === 1 ? 'look' : command)),
    );
    const response = await open.attempt(item, tools);
    const [verdict] = await open.judge([{ item, response }], signal);
    await open.close();
    expect(verdict!.detail).toEqual(walkthroughOf(item).map((_, index) => index !== 1));
    expect(questions.at(-1)!.messages.map(({ content }) => content)).toContain(
      `Action: ${item.walkthrough![1]!}`,
    );
    expect(questions.at(-1)!.messages.map(({ content }) => content)).not.toContain('Action: look');
  });
  test.skipIf(process.platform !== 'linux')(
    'a killed sidecar fails the attempt; with a new one it is asked the same',
    async () => {
      const before = new Set(sidecars());
      const mortal = await opened('alfworld_own_admissible');
      const [pid] = sidecars().filter((running) => !before.has(running));
      const item = mortal.cases[0]!;
      const answers = walkthroughOf(item).map((command) => answer(command));
      const cut = scripted(answers);
      const dying: typeof cut.tools = {
        ...cut.tools,
        ask: (question) => {
          if (cut.questions.length === 2) process.kill(pid!, 'SIGKILL');
          return cut.tools.ask(question);
        },
      };
      await expect(mortal.attempt(item, dying)).rejects.toThrow(SidecarFailed);
      await expect(mortal.judge([{ item, response: mortal.gold(item)! }], signal)).rejects.toThrow(
        SidecarFailed,
      );
      await mortal.close();
      const complete = scripted(answers);
      const response = await suite.attempt(item, complete.tools);
      expect(complete.questions.slice(0, cut.questions.length)).toEqual(cut.questions);
      expect(await suite.judge([{ item, response }], signal)).toMatchObject([{ correct: true }]);
    },
  );
});

/** Process ids of the sidecars that this process has started. */
const sidecars = (): number[] =>
  processesWith(
    (folder) =>
      readFileSync(`${folder}/status`, 'utf8').includes(`\nPPid:\t${process.pid}\n`) &&
      readFileSync(`${folder}/cmdline`, 'utf8').includes('alfworld/sidecar'),
  );
