import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { dialogueTokens } from '../../src/inference/character-tokens.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { errorTurns, playActions } from '../../src/worlds/minidesk/desk.ts';
import type { DeskOutcome } from '../../src/worlds/minidesk/desk.ts';
import { miniDeskSettings } from '../../src/worlds/minidesk/settings.ts';
import { MAX_CHANCE_SUCCESS, successByChance } from '../../src/worlds/minidesk/solve.ts';
import { deskAlphabet, parseDeskTask } from '../../src/worlds/minidesk/task.ts';
import { defaultWording, isTrueWording } from '../../src/worlds/minidesk/wording.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';

const settings = miniDeskSettings.parse({ type: 'minidesk' });
const world = createWorld(settings);
const rules = world.turns!;
const size = deskAlphabet(settings);
const taskOf = (spec: string) => {
  const parsed = parseDeskTask(spec, size);
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed.task;
};
const answer = (...actions: string[]) => actions.join('\n');

describe('a task', () => {
  it.each([
    ['ar1,bg3|b>2|b@2|t0', 2, 'm'],
    ['ar1,bg3|g>2|b@2|t0', 3, 'M'],
    ['ar1,bg3|g>2,a=y|b@2,a=y|v0', 4, 'X'],
    ['ar1,bg3|a=y|a=y|t0', 2, 'p'],
    ['ar1,bg3|a=y,a>3|a=y,a@3|t0', 3, 'x'],
    // One half of the goal holds already.
    ['ar1,bg3|a>1,b>2|a@1,b@2|t0', 2, 'm'],
  ])('%s takes %d actions', (spec, actions, kind) => {
    expect(world.parseTask(spec)).toEqual({ valid: true, spec });
    expect([world.difficulty(spec), world.kind(spec)]).toEqual([actions, kind]);
    expect(world.score(spec, world.referenceAnswer(spec))).toEqual({ reward: 1, wellFormed: true });
  });

  it.each([
    ['', 'empty'],
    ['ar1,bg3', 'unparsable'],
    ['ar1|a>2|a@2|x0', 'unparsable'],
    ['ar1,|a>2|a@2|t0', 'bad_desk'],
    ['br1,ag3|a>2|a@2|t0', 'bad_desk'],
    ['ar1,ag3|a>2|a@2|t0', 'bad_desk'],
    ['ar4|a>2|a@2|t0', 'bad_desk'],
    ['aw1|a>2|a@2|t0', 'bad_desk'],
    ['ar1,br1,cr1,dr1,er1|a>2|a@2|t0', 'bad_desk'],
    ['ar1|a>9|a@2|t0', 'bad_goal'],
    ['ar1|a>2,a=y,a>3|a@2|t0', 'bad_goal'],
    ['ar1|a>2|a@y|t0', 'bad_predicate'],
    ['ar1|a>2|a@2|t2', 'too_many_errors'],
    ['ar1,br2|r>3|a@3|t0', 'ambiguous_goal'],
    ['ar1,bg2|y>3|a@3|t0', 'ambiguous_goal'],
    ['ar1,bg2|c>3|a@3|t0', 'ambiguous_goal'],
    ['ar1,bg2|g>3|a@3|t0', 'goal_contradicts_predicate'],
    ['ar1,bg2|g>3|b@2|t0', 'goal_contradicts_predicate'],
    ['ar1,bg2|g>3|b@3,a=y|t0', 'goal_contradicts_predicate'],
    ['ar1,bg2|a>3,a>2|a@3,a@2|t0', 'contradictory'],
    ['ar1,bg2|a>1|a@1|t0', 'already_true'],
  ])('%j is none: %s', (text, reason) => {
    expect(world.parseTask(text)).toEqual({ valid: false, reason });
  });

  it('is none where no plan fits the turns, or a random policy solves it', () => {
    const short = createWorld({ ...settings, turns: 3, baseSteps: [2, 3] });
    expect(short.parseTask('ar1,bg3|g>2,r=y|b@2,a=y|v0')).toEqual({ valid: false, reason: 'unsolvable' });
    const few = createWorld({ ...settings, records: 2, colours: 2, places: 2, turns: 8 });
    expect(few.parseTask('ar1|a>2|a@2|t0')).toEqual({ valid: false, reason: 'solved_by_chance' });
    for (const spec of world.heldOutTasks(randomStream(3)))
      expect(successByChance(taskOf(spec), size)).toBeLessThanOrEqual(MAX_CHANCE_SUCCESS);
  });

  it('has a chance of random success that a random policy has', () => {
    const random = randomStream(1);
    const few = { ...settings, records: 2, colours: 2, places: 2, turns: 8 };
    for (const [spec, worldSettings] of [
      ['ar1|a>2|a@2|t0', few],
      ['ar1|a>2|a@2|t1', few],
      ['ar1,bg1|a>2,b=r|a@2,b=r|t0', few],
    ] as const) {
      const smallWorld = createWorld(worldSettings);
      const parsed = parseDeskTask(spec, deskAlphabet(worldSettings));
      if ('reason' in parsed) throw new Error(parsed.reason);
      const rewards = Array.from(
        { length: 20_000 },
        (): number => smallWorld.score(spec, smallWorld.randomAnswer(spec, random)).reward,
      );
      // Standard deviation at most 0.0028.
      expect(
        Math.abs(
          rewards.reduce((sum, reward) => sum + reward, 0) / 20_000 -
            successByChance(parsed.task, deskAlphabet(worldSettings)),
        ),
      ).toBeLessThan(0.01);
    }
  });

  it('does not come true by itself: nothing done is a failure, and so is never saying so', () => {
    const spec = 'ar1,bg3|g>2|b@2|t0';
    expect(world.score(spec, 'd')).toEqual({ reward: 0, wellFormed: true });
    expect(world.score(spec, '')).toEqual({ reward: 0, wellFormed: false });
    expect(world.score(spec, answer('mb2', 'fr', 'fr', 'fr', 'fr', 'fr'))).toEqual({
      reward: 0,
      wellFormed: true,
    });
    expect(world.score(spec, answer('mb2', 'fr', 'fr', 'fr', 'fr', 'd'))).toEqual({
      reward: 1,
      wellFormed: true,
    });
    expect(world.score(spec, answer('mb2', 'fr', 'fr', 'fr', 'fr', 'fr', 'd'))).toEqual({
      reward: 0,
      wellFormed: false,
    });
    expect(world.score(spec, answer('mb2', 'mb1', 'd')).reward).toBe(0);
    expect(world.score(spec, answer('done please', 'mb2', 'd'))).toEqual({ reward: 1, wellFormed: false });
  });

  it('has tool errors at turns that follow from its text, which the plan gets over', () => {
    const spec = 'ar1,bg3|g>2|b@2|t1';
    const turns = errorTurns(taskOf(spec), size);
    expect(turns.size).toBe(1);
    expect(errorTurns(taskOf(spec), size)).toEqual(turns);
    const seen = new Set<number>();
    for (const place of '123')
      for (const colour of 'gy')
        for (const key of 'ar')
          for (const turn of errorTurns(taskOf(`ar${place},b${colour}3|${key}=g|a=g|t1`), size))
            seen.add(turn);
    expect(seen.size).toBeGreaterThan(2);
    const actions = Array.from({ length: 6 }, () => 'fg');
    expect(playActions(taskOf(spec), actions, size).outcomes.map(({ kind }) => kind)).toEqual(
      actions.map((_, turn) => (turns.has(turn) ? 'error' : 'found')),
    );
  });
});

describe('what the agent reads', () => {
  const spec = 'ar1,bg3,cg2|a>2|a@2|v0';

  it.each([
    [['fg'], 'v|fg|b3c2=', 'found b3 c2='],
    [['fy'], 'v|fy|-=', 'found none='],
    [['ma2'], 'v|ma2|ok=', 'moved a 2='],
    [['pay'], 'v|pay|ok=', 'painted a y='],
    [['md2'], 'v|md2|no=', 'missing d='],
    [['hello'], 'v|?|?=', '?='],
  ])('after %j is what happened, in the world’s words where there are none', (actions, prompt, text) => {
    expect(rules.wordingPrompt(spec, actions)).toBe(prompt);
    expect(rules.observe(spec, actions, null)).toEqual({ text, consistent: true });
  });

  it('is nothing once the rollout is over', () => {
    expect(rules.wordingPrompt(spec, ['ma2', 'd'])).toBeUndefined();
    expect(
      rules.wordingPrompt(
        spec,
        Array.from({ length: 6 }, () => 'fg'),
      ),
    ).toBeUndefined();
    expect(rules.limit).toBe(6);
  });

  it('is the simulator’s wording where that is true', () => {
    for (const wording of ['ok', 'moved a', 'moved a 2'])
      expect(rules.observe(spec, ['ma2'], wording)).toEqual({ text: `${wording}=`, consistent: true });
    for (const wording of ['b3 c2', 'found c2 b3'])
      expect(rules.observe(spec, ['fg'], wording)).toEqual({ text: `${wording}=`, consistent: true });
  });

  const lies: [string, string][] = [
    ['ma2', 'moved a 3'],
    ['ma2', 'moved b 2'],
    ['ma2', 'painted a r'],
    ['ma2', 'err'],
    ['ma2', 'no a'],
    ['ma2', ''],
    ['ma2', 'ok '],
    ['ma2', 'ok ok'],
    ['ma2', 'found a2'],
    ['ma2', 'you have won'],
    ['fg', 'b3'],
    ['fg', 'b3 c2 a1'],
    ['fg', 'b2 c2'],
    ['fg', 'none'],
    ['fg', 'ok'],
    ['fg', 'b3 b3'],
    ['fg', 'b3,c2'],
    ['fy', 'a1'],
    ['md2', 'ok'],
    ['md2', 'no a'],
    ['md2', 'moved d 2'],
  ];
  it.each(lies)('after %s is not %j, which is replaced', (action, wording) => {
    expect(rules.observe(spec, [action], wording)).toEqual({
      text: rules.observe(spec, [action], null).text,
      consistent: false,
    });
  });

  it('is told apart from every other outcome, in both styles', () => {
    const outcomes: DeskOutcome[] = [
      { kind: 'ok', action: { tool: 'move', key: 'a', place: '2' } },
      { kind: 'ok', action: { tool: 'paint', key: 'a', colour: 'y' } },
      { kind: 'found', records: [{ key: 'a', colour: 'r', place: '1' }] },
      { kind: 'found', records: [] },
      { kind: 'missing', key: 'a' },
      { kind: 'error' },
      { kind: 'malformed' },
    ];
    for (const described of outcomes) {
      for (const actual of outcomes)
        expect(
          isTrueWording(defaultWording(described, 'v'), actual),
          `${defaultWording(described, 'v')} of ${JSON.stringify(actual)}`,
        ).toBe(described === actual);
      expect(isTrueWording(defaultWording(described, 't'), described)).toBe(true);
    }
  });
});

describe('the agent’s corpus', () => {
  it('has rollouts whose success falls with the number of actions, and whose observations are true', () => {
    const bySteps = new Map<number, number[]>();
    for (const { completion, more = [], prompt } of world.warmUpCorpus('agent', 400, randomStream(2))) {
      expect(prompt.length).toBe(4 * settings.conjuncts);
      expect(1 + more.length).toBeLessThanOrEqual(settings.turns);
      const actions = [completion, ...more.map(({ write }) => write)];
      bySteps.set(actions.length, [...(bySteps.get(actions.length) ?? []), Number(actions.at(-1) === 'd')]);
      for (const { read } of more) expect(read).toMatch(/^[a-z\d? ]+=$/);
    }
    expect([...bySteps.keys()].toSorted()).toEqual([1, 2, 3, 4, 5, 6]);
    const exact = createWorld({ ...settings, warmUp: { ...settings.warmUp, actionAccuracy: 1 } });
    for (const { completion, more = [] } of exact.warmUpCorpus('agent', 100, randomStream(2)))
      expect([completion, ...more.map(({ write }) => write)].at(-1)).toBe('d');
  });

  it('is trained on what the agent writes, and not on what it reads', () => {
    expect(dialogueTokens(['ab=', 'c', 'b=', 'd'], [...'=abcd'])).toEqual({
      token_ids: [4, 5, 3, 6, 2, 5, 3, 7, 2],
      mask: [0, 0, 0, 1, 1, 0, 0, 1, 1],
    });
    expect(() => dialogueTokens(['x'], ['a'])).toThrow('"x" is not in the world');
  });
});

describe('the experiment file', () => {
  it('of a desk is one', () => {
    expect(parseExperiment(experimentFile('minidesk')).world.type).toBe('minidesk');
  });

  it('is refused where turns do not fit a model from scratch, or the server gives no token ids', () => {
    const refused = (fields: Record<string, unknown>) => () =>
      parseExperiment(withFields(experimentFile('minidesk'), fields));
    expect(refused({ 'agent.sampling.maxTokens': 40 })).toThrow(
      /agent\.sampling\.maxTokens: got 40; expected at most \d+, since .* over 6 turns/,
    );
    expect(refused({ 'world.baseSteps': [3, 9] })).toThrow(
      'world.baseSteps: got [3, 9]; expected at most turns (6)',
    );
    const serving = {
      type: 'openai',
      baseUrl: 'http://127.0.0.1:8000/v1',
      publish: 'none',
      returnsTokenIds: false,
      models: { agent: 'a', environment: 'b' },
    };
    expect(
      refused({ serving, arm: { type: 'random' }, 'agent.training': null, 'environment.training': null }),
    ).toThrow('serving.returnsTokenIds: got false; a rollout of the world "minidesk" takes several turns');
  });
});
