import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { parseCandidate } from '../../src/curriculum/generate-candidates.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { worldSettings } from '../../src/worlds/settings.ts';
import { read } from '../infra/repository.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { loaded, shippedWorld, tasksOf } from './json-tasks-support.ts';

const worlds = [
  ['calls', {}],
  ['calls', { style: 'api-bank' }],
  ['travel', { format: 'chatml' }],
] as const;

/** What every world promises (docs/worlds.md), in those whose tasks are read from a file. */
describe.each(worlds)('%s %j', async (type, rest) => {
  const world = await shippedWorld(type, rest);
  const specs = [...world.baseTasks(randomStream(1)), ...world.heldOutTasks(randomStream(1))];
  const aSpec = fc.constantFrom(...specs);

  it('reads all its tasks, each once, some of them held out, and none with a question of a benchmark', () => {
    expect(specs).toHaveLength(read(`experiments/tasks/${type}.jsonl`).trim().split('\n').length);
    expect(new Set(specs).size).toBe(specs.length);
    for (const spec of specs) expect(parseCandidate(world, spec)).toEqual({ valid: true, spec });
  });

  it('gives the reference answer 1, always, and a blind guess of the right shape hardly ever', () => {
    for (const spec of specs)
      expect(world.score(spec, world.referenceAnswer(spec))).toEqual({ reward: 1, wellFormed: true });
    const guesses = specs.flatMap((spec, at) =>
      Array.from({ length: 30 }, (_, seed) =>
        world.score(spec, world.randomAnswer(spec, randomStream(at * 100 + seed))),
      ),
    );
    expect(guesses.every(({ wellFormed }) => wellFormed)).toBe(true);
    expect(guesses.filter(({ reward }) => reward === 1).length / guesses.length).toBeLessThan(0.05);
  });

  it('gives any text a verdict, and no text that is no task a way in', () => {
    fc.assert(
      fc.property(
        aSpec,
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((json) => `[${json}]`),
        ),
        (spec, text) => {
          expect(world.score(spec, text)).toMatchObject({ reward: 0 });
          expect(() => world.renderAnswer(text)).not.toThrow();
          const parsed = world.parseTask(text);
          expect(parsed.valid ? '' : parsed.reason).toMatch(/^[a-z_]+$/);
        },
      ),
    );
  });

  it('does not show the right answer, and tells the simulator what it varies', () => {
    for (const spec of specs) {
      expect(world.agentPrompt(spec)).not.toContain(world.referenceAnswer(spec));
      expect(world.environmentPrompt(emptyHistory(), spec)).toContain(`Task to vary: ${spec}\n`);
      expect(world.difficulty(spec)).toBeGreaterThan(0);
      expect(() =>
        JSON.stringify([world.renderTask(spec), world.latents(spec), world.signature!(spec)]),
      ).not.toThrow();
    }
    expect(world.exemplarPrompt!(emptyHistory(), specs[0]!, [{ spec: specs[1]!, reward: 0.5 }])).toContain(
      `- reward 0.50: ${specs[1]!}`,
    );
    expect(world.repairs!.prompt('context ', 'a <|im_end|></s>', 'not_json')).toMatch(
      /^context a < \|im_end\|>< \/s>[^]*That is no task: not json\./,
    );
  });

  it('has a README that says what is asked of one', () => {
    const text = read(`src/worlds/${type}/README.md`);
    for (const wanted of [
      '**What it teaches**',
      '**How difficulty arises**',
      '**Ground truth**',
      '| shortcut | why not |',
    ])
      expect(text).toContain(wanted);
  });

  it('is made by a worker that reads its file alone', () => {
    expect(() => createWorld(worldSettings.parse({ type, tasksFile: { path: 'x.jsonl' } }))).toThrow(
      'world.tasksFile: got "x.jsonl"; a worker reads it, not this',
    );
  });

  it('warms an agent up with the right answers to its base tasks, each as often, and no simulator', () => {
    const base = world.baseTasks(randomStream(1));
    const rows = [...world.warmUpCorpus('agent', 2 * base.length, randomStream(1))];
    const answers = new Map(base.map((spec) => [world.agentPrompt(spec), world.referenceAnswer(spec)]));
    for (const { prompt, completion } of rows) expect(completion).toBe(answers.get(prompt));
    const [once, twice] = [rows.slice(0, base.length), rows.slice(base.length)].map((pass) =>
      pass.map(({ prompt }) => prompt),
    );
    expect(once!.toSorted()).toEqual(base.map((spec) => world.agentPrompt(spec)).toSorted());
    expect(twice!.toSorted()).toEqual(once!.toSorted());
    expect(twice).not.toEqual(once);
    expect([...world.warmUpCorpus('environment', 4, randomStream(1))]).toEqual([]);
  });

  it.each([0.01, 0.9, 0.99])('holds at least one task out, and never all: %f', async (heldOut) => {
    const path = join(await temporaryFolder(), 'tasks.jsonl');
    await writeFile(path, specs.slice(0, 4).join('\n'));
    const few = await loaded({ type, ...rest, tasksFile: { path, heldOut } });
    expect(few.heldOutTasks(randomStream(1))).toHaveLength(heldOut < 0.5 ? 1 : 3);
    expect(few.baseTasks(randomStream(1))).toHaveLength(heldOut < 0.5 ? 3 : 1);
  });

  it('refuses a file by its line and the field in it', async () => {
    const path = join(await temporaryFolder(), 'tasks.jsonl');
    const [first, second] = read(tasksOf(type).replace(/^.*(?=experiments\/)/, '')).split('\n');
    const broken =
      type === 'calls'
        ? second!.replace('"type": "string"', '"type": "text"')
        : second!.replace('"people_number": 2', '"people_number": "two"');
    await writeFile(path, `${first!}\n${broken}\n`);
    const field =
      type === 'calls'
        ? /tools\.0\.parameters\.room\.type: Invalid option/
        : /query\.people_number: Invalid input/;
    await expect(loaded({ type, ...rest, tasksFile: { path } })).rejects.toThrow(
      /^experiment: world\.tasksFile\.path: .*tasks\.jsonl line 2: it is no task \(wrong_schema: /,
    );
    await expect(loaded({ type, ...rest, tasksFile: { path } })).rejects.toThrow(field);
  });
});
