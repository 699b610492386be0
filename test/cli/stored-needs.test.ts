import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { storedNeeds } from '../../src/cli/lib/needs.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import { parseEvaluation } from '../../src/config/evaluation.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { noNeeds, standardNeeds } from '../../src/dev-stack/stack-needs.ts';
import { ComparisonFolder, EvaluationFolder } from '../../src/runs/result-folders.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const model = { type: 'pretrained', path: '/models/small', adapter: { r: 8 } };
const onVllm = withFields(exampleFile, {
  'agent.model': model,
  'environment.model': model,
  serving: { type: 'vllm' },
});

/** A home with a run on a vLLM of the stack, and what an interrupted workflow that is stored in it needs. */
async function someHome() {
  const home = await temporaryFolder();
  await new RunFolder(join(home, 'runs'), 'on-vllm').writeExperiment(parseExperiment(onVllm));
  const evaluate = async (policy: object) => {
    const folder = new EvaluationFolder(join(home, 'evaluations'), 'e');
    await folder.write(parseEvaluation({ name: 'e', suites: ['bamboogle_closedbook'], policy }));
    return storedNeeds(home, { type: 'evaluation', id: 'e' });
  };
  return { home, evaluate };
}

describe('what an interrupted workflow needs', () => {
  test('is nothing for an evaluation of what has its own server, or no server', async () => {
    const { evaluate } = await someHome();
    expect(await evaluate({ type: 'gold' })).toEqual(noNeeds);
    expect(await evaluate({ type: 'served', baseUrl: 'http://127.0.0.1:9/v1', model: 'm' })).toEqual(noNeeds);
  });

  test('is the vLLM of its run for an evaluation, and nothing to train with', async () => {
    const { evaluate } = await someHome();
    expect(await evaluate({ type: 'run', run: 'on-vllm' })).toMatchObject({
      policyServer: false,
      trainer: false,
      vllm: { model: '/models/small', maxLoraRank: 8 },
    });
  });

  test('is what all arms need for a comparison', async () => {
    const { home } = await someHome();
    const comparison = parseComparison({
      name: 'c',
      seeds: [1],
      experiment: onVllm,
      arms: { a: {}, b: {} },
      baseline: 'a',
    });
    await new ComparisonFolder(join(home, 'comparisons'), 'c').write(comparison);
    expect(await storedNeeds(home, { type: 'comparison', id: 'c' })).toMatchObject({
      policyServer: false,
      vllm: { model: '/models/small' },
    });
  });

  test('is what is standard if no file says, or one that cannot be read', async () => {
    const { home } = await someHome();
    for (const type of ['evaluation', 'comparison', 'nightly'])
      expect(await storedNeeds(home, { type, id: 'absent' })).toEqual(standardNeeds);
    for (const folder of ['evaluations/torn', 'comparisons/torn'])
      await mkdir(join(home, folder), { recursive: true });
    await writeFile(join(home, 'evaluations/torn/evaluation.json'), '{');
    await writeFile(join(home, 'comparisons/torn/comparison.json'), '{}');
    for (const type of ['evaluation', 'comparison'])
      expect(await storedNeeds(home, { type, id: 'torn' })).toEqual(standardNeeds);
  });
});
