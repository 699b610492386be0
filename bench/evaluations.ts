import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exampleExperiment } from '../test-support/experiments.ts';
import { FakeModelServer } from '../test-support/fake-model-server.ts';
import { fakeToolboxModel } from '../test-support/fake-toolbox-model.ts';

const child = (name: string): string => fileURLToPath(new URL(`${name}-child.ts`, import.meta.url));

/**
 * Cases of an evaluation a second (questions, journal, verdicts, figures) beside rollouts a second, both
 * against one instant model server.
 */
export async function evaluations(): Promise<Record<string, unknown>> {
  const { world } = exampleExperiment();
  await using toolbox = await FakeModelServer.start({
    model: fakeToolboxModel(world),
    keepRequests: false,
    seedRule: 'embedded',
  });
  await using server = await FakeModelServer.start({
    model: () => '<answer>unknown</answer>',
    chat: () => '<answer>unknown</answer>',
    keepRequests: false,
  });
  const run = async <Result>(name: string, ...args: string[]): Promise<Result> =>
    JSON.parse(
      (await promisify(execFile)(process.execPath, [child(name), ...args], { maxBuffer: 1 << 24 })).stdout
        .trim()
        .split('\n')
        .at(-1)!,
    ) as Result;
  const { rollouts_per_second: rollouts } = await run<{ rollouts_per_second: number }>(
    'rollouts',
    '10240',
    toolbox.url,
  );
  const runs = [
    await run<{ cases_per_second: number }>('evaluations', server.url, 'completions'),
    await run<{ cases_per_second: number }>('evaluations', server.url, 'chat'),
  ];
  return {
    runs,
    rollouts_per_second: Math.round(rollouts),
    ratio_to_rollouts: runs.map(({ cases_per_second: cases }) => cases / rollouts),
    target_ratio: 1,
  };
}
