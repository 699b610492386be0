import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepHeapSmall } from '../src/worker/run-worker.ts';
import { exampleFile, withFields } from '../test-support/experiments.ts';
import { FakeTrainer } from '../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../test-support/plain-epochs.ts';
import { timed } from './timed.ts';

/**
 * One epoch of `<rollouts>` rollouts against the model server at `<url>`: prints seconds by phase and the
 * peak of resident memory.
 */
keepHeapSmall();
const [rollouts, url] = process.argv.slice(2) as [string, string];
const home = mkdtempSync(join(tmpdir(), 'genenv-bench-'));
const perTask = 8;
const variations = 4;
const file = withFields(exampleFile, {
  'environment.promptsPerEpoch': Number(rollouts) / perTask / variations,
  'environment.variationsPerPrompt': variations,
  'guards.frozenSamples': 0,
  'agent.rolloutsPerTask': perTask,
  arm: { type: 'random' },
  'agent.training': null,
  'environment.training': undefined,
  'durability.shards': 8,
});
try {
  const { activities, seconds } = timed(createActivities(plainDependencies(home, url, new FakeTrainer())));
  const { plan, prepared } = await begin(activities, 'bench', file);
  const { metrics } = await plainEpoch(activities, plan, prepared);
  const made = metrics['rollouts/count']!;
  const used = seconds.rollOut! + seconds.computeRewards!;
  console.log(
    JSON.stringify({
      rollouts: made,
      seconds,
      rollouts_per_second: made / used,
      peak_megabytes: process.resourceUsage().maxRSS / 1024,
    }),
  );
} finally {
  rmSync(home, { recursive: true, force: true });
}
