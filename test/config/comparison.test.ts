import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { controlOf, hasSameAgentTraining } from '../../src/comparison/claim-rules.ts';
import { armRuns, experimentOf } from '../../src/comparison/plan.ts';
import { armName } from '../../src/config/arms.ts';
import { measureProblems } from '../../src/config/comparison-measures.ts';
import { comparisonJsonSchema, parseComparison } from '../../src/config/comparison.ts';
import { agentRollouts } from '../../src/config/equal-terms.ts';
import { replayCount } from '../../src/config/experiment.ts';
import type { Experiment } from '../../src/config/experiment.ts';
import { fieldTable } from '../../src/config/json-schema.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { changedFields } from '../../src/config/retune.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';
import { refusalOf } from '../../test-support/refusals.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';

const problemOf = (raw: unknown): string => refusalOf(parseComparison, raw);
const changed = (fields: Record<string, unknown>): string => problemOf(withFields(tinyComparison(), fields));

test('every arm is the shared experiment with its changes, presets written out', () => {
  const { arms, concurrency, threshold } = parseComparison(tinyComparison());
  expect(arms.tuned).toMatchObject({
    name: 'tiny-comparison.tuned',
    arm: { type: 'genenv', preset: 'tuned' },
    environment: { training: { lambda: 5, recordsPerStep: 8 } },
  });
  expect(arms.random).toMatchObject({
    arm: { type: 'random' },
    environment: { training: null },
    agent: arms.tuned!.agent,
  });
  expect({ concurrency, threshold }).toEqual({ concurrency: 2, threshold: 0.5 });
});

test('the paper’s arm attempts as many tasks as it replays: with half the prompts it is on equal terms', () => {
  const paper = { arm: { type: 'genenv', preset: 'paper' }, environment: { promptsPerEpoch: 2 } };
  const { arms } = parseComparison(tinyComparison({ arms: { ...(tinyComparison().arms as object), paper } }));
  expect(agentRollouts(arms.paper!)).toBe(agentRollouts(arms.tuned!));
  expect(changed({ 'arms.paper': { ...paper, environment: {} } })).toBe(
    'comparison: arms.paper: the agent makes 128 rollouts an epoch; expected 64, as in random: set environment.promptsPerEpoch, environment.variationsPerPrompt, pools.train.mix or agent.rolloutsPerTask',
  );
});

test('worlds by seed: codes and held-out tasks follow the seed, alike for all arms under it', () => {
  const file = withFields(tinyComparison(), { worlds: 'by-seed' });
  const comparison = parseComparison(file);
  const experiments = armRuns('c', comparison).map((run) => experimentOf(comparison, run));
  expect(
    experiments.map(({ seed, world, evaluation }) => [
      seed,
      (world as { seed: number }).seed,
      evaluation.heldOutSeed,
    ]),
  ).toEqual([
    [1, 1, 1],
    [1, 1, 1],
    [2, 2, 2],
    [2, 2, 2],
  ]);
  // Each is an experiment file that would be accepted.
  expect(experiments.map(({ evaluation }) => evaluation.excludeHeldOut)).toEqual([true, true, true, true]);
  for (const experiment of experiments) expect(parseExperiment(experiment)).toEqual(experiment);

  const shared = parseComparison(tinyComparison());
  expect(shared).not.toHaveProperty('worlds');
  for (const run of armRuns('c', shared)) {
    const { world, evaluation } = experimentOf(shared, run);
    expect(world).toMatchObject({ seed: 0 });
    expect(evaluation).not.toHaveProperty('heldOutSeed');
    expect(evaluation).not.toHaveProperty('excludeHeldOut');
  }
});

test('a comparison whose worlds follow the seed may not draw held-out tasks by another', () => {
  expect(changed({ worlds: 'by-seed', 'experiment.evaluation': { every: 1, heldOutSeed: 3 } })).toBe(
    'comparison: arms.tuned: evaluation.heldOutSeed: got 3; expected none with worlds "by-seed", which draws them by the seed\n' +
      'comparison: arms.random: evaluation.heldOutSeed: got 3; expected none with worlds "by-seed", which draws them by the seed',
  );
});

test('best-of-n is compared on equal terms: what its candidates cost is no rollout', () => {
  const arms = {
    ...(tinyComparison().arms as object),
    best: { arm: { type: 'best-of-n' }, environment: { training: null } },
  };
  const parsed = parseComparison(tinyComparison({ arms }));
  expect(agentRollouts(parsed.arms.best!)).toBe(agentRollouts(parsed.arms.random!));
  expect(parsed.arms.best).toMatchObject({
    arm: { type: 'best-of-n', candidates: 4, exemplars: 3 },
    agent: parsed.arms.random!.agent,
  });
});

test('what arms multiply is limited: the shared experiment is merged and kept once for each', () => {
  const settings = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, 0]));
  const world = (count: number): object => ({ type: 'external', name: 'x', settings: settings(count) });
  const arms = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`a${index}`, {}]));
  const multiplied = { arms, baseline: 'a0', crossPlay: null, probes: null };
  expect(changed({ ...multiplied, 'experiment.world': world(20_000) })).toMatch(
    /^comparison: arms: got 10, whose experiments have 200,\d{3} values together; expected at most 100,000$/,
  );
  expect(changed({ ...multiplied, 'experiment.world': world(9_000) })).toBe('accepted');
});

test('of too many arms only the number is told, and not with each measure', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `a${index}`);
  const arms = Object.fromEntries(names.map((name) => [name, {}]));
  const absent = Array.from({ length: 1_000 }, (_, index) => `b${index}`);
  const line = changed({ arms, baseline: 'b', 'crossPlay.arms': absent, 'probes.arms': absent });
  expect(line.length).toBeLessThan(200);
  expect(line).toBe('comparison: seeds: got 2 for 20000 arms; expected at most 200 runs');
});

test('of many problems the first 20 are described, and the others counted', () => {
  const absent = Array.from({ length: 1_000 }, (_, index) => `b${index}`);
  // Each that there is not, and that they are too many.
  const lines = changed({ 'crossPlay.arms': absent }).split('\n');
  expect(lines.length).toBe(21);
  expect(lines.at(-1)).toBe('comparison: 981 more problems');
  const unknown = Object.fromEntries(absent.map((name) => [name, 0]));
  const ofArm = changed({ 'arms.tuned': unknown }).split('\n');
  expect(ofArm.length).toBe(21);
  expect(ofArm.at(-1)).toBe('comparison: arms.tuned: 980 more problems');
});

describe('what is wrong is named', () => {
  test.each([
    ['an unknown field', { seed: 3 }, 'comparison: seed: unknown field; did you mean "seeds"?'],
    [
      'no seed',
      { seeds: [] },
      'comparison: seeds: got []; expected a list with at least 1 entry, each a whole number from 0 to 999,999,999',
    ],
    ['a seed twice', { seeds: [1, 1] }, 'comparison: seeds: got 1 twice; expected each once'],
    [
      'a baseline that is no arm',
      { baseline: 'static' },
      'comparison: baseline: got "static"; allowed: tuned, random',
    ],
    [
      'cross-play of an unknown arm',
      { 'crossPlay.arms': ['paper'] },
      'comparison: crossPlay.arms: got "paper"; allowed: tuned, random',
    ],
    [
      'cross-play of an unknown seed',
      { 'crossPlay.seeds': [3] },
      'comparison: crossPlay.seeds: got 3; allowed: 1, 2',
    ],
    [
      'probes of an unknown arm',
      { probes: { arms: ['paper'], seeds: [1] } },
      'comparison: probes.arms: got "paper"; allowed: tuned, random',
    ],
    [
      'probes of a seed twice',
      { probes: { arms: ['tuned'], seeds: [1, 1] } },
      'comparison: probes.seeds: got 1 twice; expected each once',
    ],
    [
      'too few attempts to cut in two',
      { probes: { arms: ['tuned'], seeds: [1], attempts: 4 } },
      'comparison: probes.attempts: got 4; expected a whole number from 8 to 4,096',
    ],
    ['a name too long for its runs', { name: 'n'.repeat(41) }, 'expected 1 to 40 letters'],
    [
      'a wrong field of an arm',
      { 'arms.tuned': { agent: { rolloutsPerTask: 0 } } },
      'comparison: arms.tuned: agent.rolloutsPerTask: got 0; expected a whole number',
    ],
    [
      'an arm that trains a frozen simulator',
      { 'arms.random': { arm: { type: 'random' } } },
      'comparison: arms.random: environment.training: got settings; the arm "random" keeps the simulator frozen',
    ],
    [
      'another world',
      { 'arms.tuned': { world: { symbols: 5 } } },
      'comparison: arms.tuned: world, models, maxTokens of the agent, trainer, serving and evaluation must be those of random, and these differ (world.symbols: was 4, is 5)',
    ],
    [
      'another warm start',
      { 'arms.tuned': { agent: { model: { warmUp: { rows: 640 } } } } },
      'agent.model.warmUp.rows: was 1920, is 640',
    ],
    [
      'answers of another length',
      { 'arms.tuned': { agent: { sampling: { maxTokens: 31 } } } },
      'these differ (agent.sampling.maxTokens: was ',
    ],
    ['another evaluation', { 'arms.tuned': { evaluation: { every: 2 } } }, 'evaluation.every: was 1, is 2'],
    [
      'fewer epochs',
      { 'arms.tuned': { epochs: 1 } },
      'comparison: arms.tuned: epochs: got 1; expected 2, as random has',
    ],
    [
      'more updates of the agent',
      { 'arms.tuned': { agent: { training: { stepsPerEpoch: 3 } } } },
      'comparison: arms.tuned: agent.training.stepsPerEpoch: got 3; expected 2, as random has',
    ],
    [
      'a start from another run',
      { 'arms.tuned': { startFrom: { run: 'other', epoch: 1 } } },
      'comparison: arms.tuned: startFrom: got {"run":"other","epoch":1}; expected null',
    ],
    [
      'a cap on tokens',
      { 'arms.tuned': { maxTokens: 5 } },
      'comparison: arms.tuned: maxTokens: got 5; expected null',
    ],
  ])('%s', (_, fields, message) => {
    expect(changed(fields)).toContain(message);
  });

  test('an arm whose name no run could have', () => {
    expect(problemOf(tinyComparison({ arms: { 'a b': {} }, baseline: 'a b', crossPlay: null }))).toContain(
      'arms.a b: ',
    );
  });

  test('no input, and input that is no file', () => {
    expect(problemOf(null)).toContain('no input was given');
    expect(problemOf([])).toContain('got []; expected an object');
  });
});

test('a frozen agent is a control, which needs no equal updates', () => {
  const frozen = { agent: { training: null } };
  expect(
    parseComparison(tinyComparison({ arms: { ...(tinyComparison().arms as object), frozen } })).arms.frozen!
      .agent.training,
  ).toBeNull();
});

test('beside a frozen baseline the arms that train make equal updates of the agent', () => {
  const arms = {
    frozen: { agent: { training: null } },
    tuned: {},
    more: { agent: { training: { stepsPerEpoch: 3 } } },
  };
  expect(problemOf(tinyComparison({ arms, baseline: 'frozen', crossPlay: null, probes: null }))).toContain(
    'comparison: arms.more: agent.training.stepsPerEpoch: got 3; expected 2, as tuned has',
  );
});

const COMPARISONS = ['main', 'paper-agent', 'shared-weights', 'ablations', 'placed', 'coin'].map(
  (name) => `compare-${name}`,
);

describe('the files of the repository', () => {
  // `npx vitest run test/config/comparison.test.ts -u` writes both anew.
  test('the schema for editors, and the table of fields in docs/comparison.md', async () => {
    await expect(`${JSON.stringify(comparisonJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
      '../../experiments/comparison.schema.json',
    );
    const [before = ''] = (
      await readFile(new URL('../../docs/comparison.md', import.meta.url), 'utf8')
    ).split('<!-- fields -->');
    await expect(`${before}<!-- fields -->\n\n${fieldTable(comparisonJsonSchema())}`).toMatchFileSnapshot(
      '../../docs/comparison.md',
    );
  });

  test('the steps are one comparison at five difficulties of the seeds: nothing else differs', () => {
    const files = ['02', '05', '14', '33', '45'].map((p0) => experimentFile(`compare-steps-p${p0}`));
    const lengths = files.map(
      (file) => (file.experiment as { world: { baseLengths: number[] } }).world.baseLengths,
    );
    expect(lengths).toEqual([
      [13, 16],
      [8, 11],
      [4, 7],
      [2, 4],
      [1, 3],
    ]);
    const [first, ...more] = files.map((file) =>
      parseComparison(withFields(file, { name: 'steps', 'experiment.world.baseLengths': [1, 3] })),
    );
    const swept = ['random-all', 'tuned-all', 'oracle-all', 'random-std', 'tuned-std', 'oracle-std'];
    for (const comparison of more) {
      expect(Object.keys(comparison.arms)).toEqual(expect.arrayContaining(swept));
      expect({ ...comparison, arms: null, primary: null }).toEqual({ ...first!, arms: null, primary: null });
      for (const [arm, experiment] of Object.entries(comparison.arms))
        expect(experiment).toEqual(first!.arms[arm]);
    }
    for (const { primary } of [first!, ...more])
      expect(primary!.map(({ arm, against }) => [arm, against])).toContainEqual(['tuned-all', 'random-all']);
    expect(first!.arms['tuned-all']!.evaluation.exact).toBe(true);
  });

  test.each(['p02', 'p14', 'p45'])('compare-steps-%s has every step of the agent on equal terms', (name) => {
    const { arms, seeds, worlds, baseline } = parseComparison(experimentFile(`compare-steps-${name}`));
    expect([seeds.length, worlds, baseline]).toEqual([6, 'by-seed', 'random-all']);
    const steps = Object.entries(arms).map(([arm, { agent }]) => {
      const { dropZeroVariance, normalizeBy, dynamicSampling, scaleByStd } = agent.training!;
      return [arm.split('-')[1], dropZeroVariance, normalizeBy, dynamicSampling !== undefined, scaleByStd];
    });
    expect(new Set(steps.map((step) => JSON.stringify(step)))).toEqual(
      new Set(
        [
          ['all', true, 'all', false, false],
          ['keep', false, undefined, false, false],
          ['drop', true, 'kept', false, false],
          ['refill', true, undefined, true, false],
          ['std', true, 'all', false, true],
        ].map((step) => JSON.stringify(step)),
      ),
    );
    // What the arms do besides is their curriculum's.
    for (const [arm, experiment] of Object.entries(arms)) {
      const own = { ...experiment.agent, training: null };
      expect(own, arm).toEqual({ ...arms[baseline]!.agent, training: null });
    }
  });

  test('compare-placed has both frozen controls, over as many seeds, and says what the memory of the simulator does', () => {
    const { arms, seeds } = parseComparison(experimentFile('compare-placed'));
    expect(Object.keys(arms)).toEqual(['tuned', 'random', 'static', 'no-memory', 'frozen-agent']);
    expect([
      arms.random!.environment.training,
      arms['frozen-agent']!.agent.training,
      arms['no-memory']!.pools.environment.memory,
    ]).toEqual([null, null, null]);
    expect(seeds.length).toBeGreaterThanOrEqual(5);
  });

  test('compare-rates differs from compare-main in the agent’s learning rate, alike with both simulators', () => {
    const [rates, main] = [
      parseComparison(experimentFile('compare-rates')),
      parseComparison(experimentFile('compare-main')),
    ];
    const values: Record<string, number> = { '5e-5': 5e-5, '1e-4': 1e-4, '2e-4': 2e-4, '4e-4': 4e-4 };
    expect(rates.seeds.filter((seed) => main.seeds.includes(seed))).toEqual([]);
    for (const simulator of ['tuned', 'random'])
      for (const [name, rate] of Object.entries(values))
        expect(
          changedFields(
            { ...main.arms[simulator], name: '' },
            { ...rates.arms[`${simulator}-${name}`], name: '' },
            9,
          ),
        ).toBe(rate === 1e-4 ? '' : `agent.training.learningRate: was 0.0001, is ${rate}`);
  });

  test('compare-coin differs from compare-main in the coin-flip tool, and takes the guards against it from one arm', () => {
    const [coin, main] = [
      parseComparison(experimentFile('compare-coin')),
      parseComparison(experimentFile('compare-main')),
    ];
    expect(Object.keys(coin.arms)).toEqual(['tuned', 'no-guards', 'random']);
    expect(changedFields({ ...main.arms.tuned, name: '' }, { ...coin.arms.tuned, name: '' }, 9)).toBe(
      'epochs: was 60, is 40; world.coinFlipTools: was nothing, is 1',
    );
    expect(changedFields({ ...coin.arms.tuned, name: '' }, { ...coin.arms['no-guards'], name: '' }, 9)).toBe(
      'guards.discrimination: was true, is false; guards.familyCap: was 0.5, is null; guards.randomSuccess: was 0.125, is null; guards.verdictAgreement: was true, is false',
    );
  });

  test('the paper’s arm has controls whose agents are trained as its own: one with a frozen simulator, one with that of tuned', () => {
    const { arms } = parseComparison(experimentFile('compare-main'));
    expect(
      changedFields(
        [arms.paper!.agent, arms.paper!.pools.train],
        [arms['paper-frozen']!.agent, arms['paper-frozen']!.pools.train],
      ),
    ).toBe('');
    expect(changedFields(arms.paper, arms['paper-frozen'], 9)).toMatch(
      /^environment\.training: was \{.*\}, is null; name: was "compare-main\.paper", is "compare-main\.paper-frozen"$/,
    );
    const simulator = ({ difficulty, filter, environment, pools, guards }: Experiment) => ({
      difficulty,
      filter,
      training: environment.training,
      pool: pools.environment,
      guards: { ...guards, gateAgent: null },
    });
    const tunedSimulator = parseComparison(experimentFile('compare-paper-agent')).arms['tuned-simulator']!;
    expect(changedFields(simulator(arms.tuned!), simulator(tunedSimulator))).toBe('');
  });

  test.each(COMPARISONS)(
    '%s names its primary comparisons, over six seeds with worlds of their own, by exact held-out success',
    (name) => {
      const { arms, seeds, primary, worlds } = parseComparison(experimentFile(name));
      expect(primary!.every(({ measure, margin }) => measure === 'area' && margin === 0.02)).toBe(true);
      expect(worlds).toBe('by-seed');
      expect(seeds.slice(0, 6)).toEqual([31, 32, 33, 34, 35, 36]);
      expect(new Set(Object.values(arms).map(agentRollouts))).toEqual(new Set([256]));
      for (const { evaluation } of Object.values(arms)) expect(evaluation.exact).toBe(true);
    },
  );

  test('compare-main has every arm that needs no other model, each beside random', () => {
    const { arms, crossPlay, probes } = parseComparison(experimentFile('compare-main'));
    expect(Object.keys(arms)).toEqual([
      'tuned',
      'paper',
      'paper-frozen',
      'replay',
      'random',
      'static',
      'offline-2x',
      'uniform',
      'oracle',
      'window',
      'selection',
      'selection-text',
      'evolved',
      'no-difficulty-reward',
      'frozen-agent',
    ]);
    for (const [arm, { agent }] of Object.entries(arms))
      if (agent.training !== null && !arm.startsWith('paper') && arm !== 'replay')
        expect(controlOf(arms, arm), arm).toBe(arm === 'random' ? null : 'random');
    expect(changedFields({ ...arms.tuned, name: '' }, { ...arms['frozen-agent'], name: '' }, 9)).toMatch(
      /^agent\.training: was \{.*\}, is null; environment\.training\.maxKl: was 1, is null$/,
    );
    expect(arms.window!.arm).toMatchObject({ type: 'window', raiseAt: 0.5 });
    expect(crossPlay!.arms).toEqual(expect.arrayContaining(['tuned', 'replay']));
    expect(probes!.arms).toEqual(['tuned', 'paper']);
  });

  test('compare-main has an arm that replays beside the one that does not', () => {
    const { arms } = parseComparison(experimentFile('compare-main'));
    expect([replayCount(arms.tuned!), replayCount(arms.replay!)]).toEqual([0, 8]);
    expect(changedFields({ ...arms.tuned, name: '' }, { ...arms.replay, name: '' }, 9)).toBe(
      'environment.promptsPerEpoch: was 8, is 6; pools.train.mix.history: was 0, is 1; pools.train.mix.new: was 1, is 3',
    );
  });

  test("compare-paper-wide gives the paper's simulator four times the prompts, and each arm as many rollouts", () => {
    const { arms, primary, seeds } = parseComparison(experimentFile('compare-paper-wide'));
    expect(Object.keys(arms)).toEqual(['paper', 'tuned-simulator', 'random']);
    expect(new Set(Object.values(arms).map(agentRollouts))).toEqual(new Set([1024]));
    for (const [arm, experiment] of Object.entries(arms))
      expect(hasSameAgentTraining(experiment, arms.paper!), arm).toBe(true);
    expect(primary!.map(({ arm, against }) => [arm, against])).toEqual([
      ['paper', 'random'],
      ['tuned-simulator', 'random'],
    ]);
    expect(seeds).toHaveLength(6);
  });

  test('compare-paper-agent trains every agent as the paper does', () => {
    const { arms } = parseComparison(experimentFile('compare-paper-agent'));
    expect(Object.values(arms).map(({ arm }) => armName(arm))).toEqual([
      'genenv-paper',
      'genenv-tuned',
      'random',
      'static',
      'offline-2x-code',
      'offline-4x-code',
    ]);
    for (const [arm, experiment] of Object.entries(arms))
      expect(hasSameAgentTraining(experiment, arms.paper!), arm).toBe(true);
  });

  test('compare-main takes every trace of difficulty from the reward of one arm', () => {
    const { arms } = parseComparison(experimentFile('compare-main'));
    expect(changedFields({ ...arms.tuned, name: '' }, { ...arms['no-difficulty-reward'], name: '' }, 9)).toBe(
      'environment.training.lambda: was 5, is 0; guards.discrimination: was true, is false; ' +
        'guards.flatRewards: was 0.05, is null; guards.randomSuccess: was 0.125, is null; ' +
        'pools.environment.memory: was {"minReward":0.6,"perTenth":32,"recordsPerStep":16}, is null',
    );
  });

  test('compare-shared-weights starts every arm as one model, and keeps it one in a single arm', () => {
    const { arms } = parseComparison(experimentFile('compare-shared-weights'));
    expect(Object.values(arms).map(({ environment }) => environment.sharesWeights)).toEqual([
      'start',
      'always',
      'start',
    ]);
    expect(changedFields({ ...arms.tuned, name: '' }, { ...arms.shared, name: '' })).toBe(
      'environment.sharesWeights: was "start", is "always"',
    );
  });

  // What each changes in the tuned method; a group of another size comes with as many rollouts.
  test.each([
    ['alpha-20', 'difficulty.alpha: was 0.5, is 0.2'],
    ['alpha-35', 'difficulty.alpha: was 0.5, is 0.35'],
    ['alpha-65', 'difficulty.alpha: was 0.5, is 0.65'],
    ['alpha-80', 'difficulty.alpha: was 0.5, is 0.8'],
    [
      'filter-alone',
      'environment.training.lambda: was 5, is 0; filter.appliesTo: was nothing, is ["environment"]; filter.kMin: was nothing, is 0.1; filter.type: was "off", is "threshold"',
    ],
    [
      'filter-and-weights',
      'filter.appliesTo: was nothing, is ["environment"]; filter.kMin: was nothing, is 0.1; filter.type: was "off", is "threshold"',
    ],
    [
      'no-kl',
      'environment.training.klCoefficient: was 0.02, is 0; environment.training.maxKl: was 1, is null',
    ],
    ['beta-2', 'difficulty.beta: was 8, is 2'],
    ['lambda-1', 'environment.training.lambda: was 5, is 1'],
    ['group-of-4', 'agent.rolloutsPerTask: was 8, is 4; environment.promptsPerEpoch: was 8, is 16'],
    ['group-of-16', 'agent.rolloutsPerTask: was 8, is 16; environment.promptsPerEpoch: was 8, is 4'],
    ['batch-rate', 'difficulty.per: was "task", is "batch"'],
    [
      'alpha-rising',
      'difficulty.alpha: was 0.5, is 0.35; difficulty.alphaSchedule: was nothing, is [{"fromEpoch":21,"alpha":0.5},{"fromEpoch":41,"alpha":0.65}]',
    ],
    [
      'alpha-falling',
      'difficulty.alpha: was 0.5, is 0.65; difficulty.alphaSchedule: was nothing, is [{"fromEpoch":21,"alpha":0.5},{"fromEpoch":41,"alpha":0.35}]',
    ],
    ['no-history', 'history.shown: was nothing, is false'],
  ])('compare-ablations: %s', (arm, changes) => {
    const { arms, seeds, baseline } = parseComparison(experimentFile('compare-ablations'));
    expect([seeds, baseline, Object.keys(arms).length]).toEqual([[31, 32, 33, 34, 35, 36], 'tuned', 16]);
    expect(changedFields({ ...arms.tuned, name: '' }, { ...arms[arm], name: '' }, 9)).toBe(changes);
  });

  test('compare-tiny has two arms and two seeds', () => {
    expect(parseComparison(experimentFile('compare-tiny'))).toMatchObject({
      seeds: [1, 2],
      baseline: 'random',
      arms: { tuned: { epochs: 6 }, random: { environment: { training: null } } },
    });
  });
});

test('a comparison measures no more checkpoints than the history of its workflow has room for', () => {
  const [arms, seeds] = [['a', 'b', 'c'], Array.from({ length: 20 }, (_, seed) => seed)];
  const measure = { arms, seeds, checkpoints: 8, tasks: 2 };
  const plan = { arms, seeds, crossPlay: { ...measure, samples: 1 }, probes: { ...measure, attempts: 8 } };
  expect([...measureProblems(plan)]).toEqual([]);
  const larger = { ...plan, probes: { ...plan.probes, checkpoints: 9 } };
  expect([...measureProblems(larger)]).toEqual([
    'probes.checkpoints: got 9 of 3 arms under 20 seeds; expected at most 500 in all',
  ]);
});
