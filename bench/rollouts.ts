import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exampleExperiment } from '../test-support/experiments.ts';
import { FakeModelServer } from '../test-support/fake-model-server.ts';
import { fakeToolboxModel } from '../test-support/fake-toolbox-model.ts';

const child = fileURLToPath(new URL('rollouts-child.ts', import.meta.url));

/**
 * Rollouts a second of our side (request, journal, trace, reward) against an instant model server, and peak
 * memory from 1,000 to 100,000.
 */
export async function rollouts(): Promise<Record<string, unknown>> {
  const { world } = exampleExperiment();
  await using server = await FakeModelServer.start({
    model: fakeToolboxModel(world),
    seedRule: 'embedded',
  });
  const sizes = [1_024, 10_240, 102_400];
  const runs: { rollouts: number; rollouts_per_second: number; peak_megabytes: number }[] = [];
  for (const size of sizes) {
    const { stdout } = await promisify(execFile)(process.execPath, [child, String(size), server.url], {
      maxBuffer: 1 << 24,
    });
    runs.push(JSON.parse(stdout.trim().split('\n').at(-1)!) as (typeof runs)[number]);
  }
  return {
    runs,
    target_rollouts_per_second: 1_000,
    memory_ratio_100k_to_1k: runs.at(-1)!.peak_megabytes / runs[0]!.peak_megabytes,
    target_memory_ratio: 1.3,
  };
}
