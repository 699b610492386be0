import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { textLimits, worldSettings } from '../../src/worlds/settings.ts';
import type { WorldSettings } from '../../src/worlds/settings.ts';
import type { World } from '../../src/worlds/world.ts';
import { filesBelow, read } from '../infra/repository.ts';

const worlds = [
  ['toolbox', {}],
  ['toolbox', { tools: 12, maxDepth: 3, maxArguments: 4, heldOutPerCell: 1 }],
  ['chainops', {}],
  ['minidesk', {}],
  [
    'minidesk',
    {
      records: 6,
      colours: 4,
      places: 4,
      conjuncts: 3,
      maxErrors: 2,
      turns: 8,
      baseTasks: 16,
      heldOutPerCell: 4,
    },
  ],
  ['programs', {}],
  ['programs', { format: 'chatml', maxCalls: 12, maxDepth: 6, baseCalls: [5, 8], wrongTools: [0, 8] }],
  ['alfworld', {}],
  ['alfworld', { form: 'codes' }],
  ['alfworld', { format: 'chatml', receptacles: 8, objects: 8, turns: 20, heldOutPerCell: 1 }],
  ['search', {}],
  ['search', { form: 'codes' }],
  ['search', { format: 'chatml', seed: 7, entities: 20, maxHops: 4, results: 5, heldOutPerCell: 2 }],
  ['chainops', { operations: 4, symbols: 9, maxDepth: 5, maxLength: 12 }],
].map(([type, changes]) => worldSettings.parse({ type, ...(changes as object) }));

/** What every world promises (docs/worlds.md), whatever it is about. */
describe.each(
  worlds.map((settings): [string, WorldSettings, World] => [
    JSON.stringify(settings).slice(0, 60),
    settings,
    createWorld(settings),
  ]),
)('%s', (_, settings, world) => {
  const limits = textLimits(settings);
  const specs = [...world.baseTasks(randomStream(1)), ...world.heldOutTasks(randomStream(1))];
  const aSpec = fc.constantFrom(...specs);
  const characters = new Set(world.vocabulary);
  const isInVocabulary = (text: string) => [...text].every((character) => characters.has(character));

  it('has a vocabulary of single characters, each once', () => {
    expect(characters.size).toBe(world.vocabulary.length);
    expect(world.vocabulary.every((character) => [...character].length === 1)).toBe(true);
  });

  it('has base and held-out tasks that follow from the stream, and are tasks', () => {
    expect(world.baseTasks(randomStream(1))).toEqual(world.baseTasks(randomStream(1)));
    expect(world.heldOutTasks(randomStream(1))).not.toEqual(world.heldOutTasks(randomStream(2)));
    for (const spec of specs)
      expect(world.parseTask(spec)).toEqual(
        // What the simulator may not write is in held-out tasks alone.
        String(world.latents(spec).part).startsWith('unseen')
          ? { valid: false, reason: expect.stringMatching(/^held_out_/) as string }
          : { valid: true, spec },
      );
  });

  it('gives the reference answer 1, always, and says nothing but its own characters', () => {
    fc.assert(
      fc.property(aSpec, fc.nat(), (spec, seed) => {
        const reference = world.referenceAnswer(spec);
        expect(world.score(spec, reference)).toEqual({ reward: 1, wellFormed: true });
        expect(world.score(spec, reference)).toEqual(world.score(spec, reference));
        expect(world.score(spec, world.randomAnswer(spec, randomStream(seed))).wellFormed).toBe(true);
        expect(world.difficulty(spec)).toBeGreaterThan(0);
        for (const text of [spec, world.agentPrompt(spec), world.environmentPrompt(emptyHistory(), spec)])
          expect(isInVocabulary(text), text).toBe(true);
        expect(() =>
          JSON.stringify([world.renderTask(spec), world.renderAnswer(reference), world.latents(spec)]),
        ).not.toThrow();
      }),
    );
  });

  it.runIf(world.hasUniqueAnswers)('takes the reference answer alone for right', () => {
    const heldOut = fc.constantFrom(...world.heldOutTasks(randomStream(2)));
    const edit = fc.record({ at: fc.nat(), cut: fc.nat(2), put: fc.string({ maxLength: 2 }) });
    fc.assert(
      fc.property(heldOut, edit, fc.nat(), (spec, { at, cut, put }, seed) => {
        const right = world.referenceAnswer(spec);
        const from = at % (right.length + 1);
        const edited = right.slice(0, from) + put + right.slice(from + cut);
        for (const answer of [edited, ` ${right}`, world.randomAnswer(spec, randomStream(seed))])
          expect(world.score(spec, answer).reward).toBe(Number(answer === right));
      }),
    );
    expect(world.turns).toBeUndefined();
  });

  it('gives any text a verdict and no text that is no task a way in', () => {
    fc.assert(
      fc.property(
        aSpec,
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...world.vocabulary) })),
        (spec, text) => {
          expect([0, 1]).toContain(world.score(spec, text).reward);
          expect(() => world.renderAnswer(text)).not.toThrow();
          const parsed = world.parseTask(text);
          if (parsed.valid) expect(world.parseTask(parsed.spec)).toEqual(parsed);
          else expect(parsed.reason).toMatch(/^[a-z_]+$/);
        },
      ),
    );
  });

  it.skipIf(limits === undefined)('stays within the lengths that an experiment file is checked with', () => {
    for (const spec of specs) {
      expect(world.agentPrompt(spec).length).toBeLessThanOrEqual(limits!.agent.prompt);
      expect(world.environmentPrompt(emptyHistory(), spec).length).toBeLessThanOrEqual(
        limits!.environment.prompt,
      );
      expect(spec.length + 1).toBeLessThanOrEqual(limits!.environment.answer);
      for (const action of world.referenceAnswer(spec).split('\n'))
        expect(action.length + 1).toBeLessThanOrEqual(limits!.agent.answer);
    }
  });

  it('draws tasks of its held-out cells by code, each as likely, that the simulator could write too', () => {
    const draw = (seed: number, count: number) => {
      const random = randomStream(seed);
      return Array.from({ length: count }, () => world.uniformTask!(random));
    };
    expect(draw(1, 20)).toEqual(draw(1, 20));
    const drawn = draw(2, 500);
    for (const spec of drawn) expect(world.parseTask(spec)).toEqual({ valid: true, spec });
    const heldOut = [1, 2, 3, 4, 5].flatMap((seed) => world.heldOutTasks(randomStream(seed)));
    const shareOf = (tasks: readonly string[], level: number) =>
      tasks.filter((spec) => world.difficulty(spec) === level).length / tasks.length;
    const levels = new Set([...heldOut, ...drawn].map((spec) => world.difficulty(spec)));
    for (const level of levels) {
      const wanted = shareOf(heldOut, level);
      // Five standard deviations.
      const bound = 5 * Math.sqrt((wanted * (1 - wanted)) / drawn.length);
      expect(Math.abs(shareOf(drawn, level) - wanted), `difficulty ${level}`).toBeLessThanOrEqual(bound);
    }
  });

  it('warms up with texts of its own characters, and a simulator that writes tasks', () => {
    for (const policy of ['agent', 'environment'] as const) {
      const rows = [...world.warmUpCorpus(policy, 300, randomStream(3))];
      expect(rows).toHaveLength(300);
      expect(rows).toEqual([...world.warmUpCorpus(policy, 300, randomStream(3))]);
      for (const { prompt, completion, more = [] } of rows) {
        const text = prompt + completion + more.map(({ read: heard, write }) => heard + write).join('');
        expect(isInVocabulary(text), text).toBe(true);
      }
      // What is no variation of a task words an observation.
      const tasks = policy === 'environment' ? rows.filter(({ prompt }) => /^H|Vary: /.test(prompt)) : [];
      expect(tasks.length).toBeGreaterThan(policy === 'environment' ? 150 : -1);
      for (const { completion } of tasks) expect(world.parseTask(completion).valid, completion).toBe(true);
    }
  });

  it('has a README that says what is asked of one', () => {
    const text = read(`src/worlds/${world.name}/README.md`);
    for (const wanted of [
      '**What it teaches**',
      '**How difficulty arises**',
      '**Ground truth**',
      '| shortcut | why not |',
    ])
      expect(text).toContain(wanted);
    expect(filesBelow(`src/worlds/${world.name}`)).toContain(`src/worlds/${world.name}/settings.ts`);
  });
});
