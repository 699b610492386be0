import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Summary } from '../../src/comparison/summary.ts';
import { comparisonStack } from '../../test-support/comparison-stack.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** Which success rate teaches most, as a person measures it: real models and a real trainer, in the least size. */

const tiny = tinyExperiment();
const file = tinyComparison({
  name: 'teaching',
  experiment: {
    ...tiny,
    epochs: 2,
    arm: { type: 'success-bin', target: 0.5, candidates: 40, attempts: 8, tasks: 8 },
    environment: {
      ...(tiny.environment as object),
      promptsPerEpoch: 4,
      variationsPerPrompt: 1,
      training: null,
    },
    agent: {
      ...(tiny.agent as object),
      training: { stepsPerEpoch: 1, minInformativeGroups: 1, learningRate: 0.001 },
    },
    evaluation: { every: 2, logprob: true },
    guards: { gateAgent: null },
  },
  arms: { low: { arm: { target: 0.05 } }, high: { arm: { target: 0.95 } }, even: { arm: { target: null } } },
  baseline: 'even',
  crossPlay: null,
  probes: null,
});

const { at, compare } = comparisonStack();

test('bins of one warm agent: measured once a seed, trained alike, and judged by what they teach', async () => {
  const path = at('teaching.json');
  await writeFile(path, JSON.stringify(file));
  const first = await compare(path);
  expect(first, first.err).toMatchObject({ code: 0 });

  const summary = JSON.parse(readFileSync(at('comparisons/teaching/summary.json'), 'utf8')) as Summary;
  const [low, high, even] = summary.arms.map(({ runs }) => runs.map(({ figures }) => figures));
  for (const [index] of [1, 2].entries()) {
    expect(low![index]!.binSuccess!).toBeLessThan(high![index]!.binSuccess!);
    expect(even![index]!.screeningSuccess).not.toBeNull();
    for (const figures of [low, high, even]) expect(figures![index]!.rollouts).toBe(32);
  }
  // A policy that is trained gives right answers another probability, were it only a little.
  expect(new Set([...high!, ...even!].map(({ logprobGain }) => logprobGain)).size).toBeGreaterThan(1);
  expect(summary.claims).toHaveLength(1);
  expect(summary.claims[0]!.rows.map(({ claim }) => claim)).toEqual([
    expect.stringContaining('teach most'),
    expect.stringContaining('more than tasks of all success rates'),
  ]);

  const measured = await readdir(at('store/keys/_initial-success/0000/initial-success'));
  expect(measured).toHaveLength(2);
  const results = readFileSync(at('comparisons/teaching/results.md'), 'utf8');
  expect(results).toContain('## Teaching');
  expect(await compare(path)).toMatchObject({ code: 0 });
  expect(readFileSync(at('comparisons/teaching/results.md'), 'utf8')).toBe(results);
}, 600_000);
