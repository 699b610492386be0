import { describe, expect, it } from 'vitest';
import type { Experiment } from '../../src/config/experiment.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';

const tuned = parseExperiment(exampleFile);

/** An ablation, the fields that a file sets for it, and what then differs from the tuned method. */
const ablations: [string, Record<string, unknown>, (experiment: Experiment) => unknown, unknown][] = [
  [
    'the filter alone',
    { 'environment.training.lambda': 0, filter: { type: 'threshold', kMin: 0.1 } },
    ({ filter, environment }) => [filter, environment.training?.lambda],
    [{ type: 'threshold', kMin: 0.1, appliesTo: ['environment'] }, 0],
  ],
  [
    'the weights alone',
    { arm: { type: 'genenv', preset: 'paper' }, filter: { type: 'off' } },
    ({ filter, environment }) => [filter, environment.training?.lambda],
    [{ type: 'off' }, 1],
  ],
  [
    'no KL of the simulator',
    { 'environment.training': { klCoefficient: 0, maxKl: null } },
    ({ environment }) => [environment.training?.klCoefficient, environment.training?.maxKl],
    [0, null],
  ],
  [
    'no KL of the agent',
    { arm: { type: 'genenv', preset: 'paper' }, 'agent.training': { klCoefficient: 0, maxKl: null } },
    ({ agent }) => [agent.training?.klCoefficient, agent.training?.maxKl],
    [0, null],
  ],
  ...[0.2, 0.35, 0.65, 0.8].map((alpha): (typeof ablations)[number] => [
    `α ${alpha}`,
    { 'difficulty.alpha': alpha },
    ({ difficulty }) => difficulty,
    { ...tuned.difficulty, alpha },
  ]),
  ['β', { 'difficulty.beta': 2 }, ({ difficulty }) => difficulty, { ...tuned.difficulty, beta: 2 }],
  [
    'λ',
    { 'environment.training.lambda': 1 },
    ({ environment }) => environment.training,
    { ...tuned.environment.training, lambda: 1 },
  ],
  ['the size of a group', { 'agent.rolloutsPerTask': 16 }, ({ agent }) => agent.rolloutsPerTask, 16],
  [
    'p̂ of a batch',
    { 'difficulty.per': 'batch' },
    ({ difficulty }) => difficulty,
    { ...tuned.difficulty, per: 'batch' },
  ],
  ['a frozen agent', { 'agent.training': null }, ({ agent }) => agent.training, null],
  ['a frozen simulator', { 'environment.training': null }, ({ environment }) => environment.training, null],
];

describe('a file can ask for', () => {
  it.each(ablations)('%s, and all else is as it was', (_, fields, read, expected) => {
    const experiment = parseExperiment(withFields(exampleFile, fields));
    expect(read(experiment)).toEqual(expected);
    const without = parseExperiment(
      withFields(exampleFile, 'arm' in fields ? { arm: fields.arm, 'agent.training': undefined } : {}),
    );
    expect(read(without)).not.toEqual(expected);
    const untouched = ['world', 'history', 'evaluation', 'serving', 'trainer', 'durability'] as const;
    for (const field of untouched) expect(experiment[field]).toEqual(tuned[field]);
  });
});
