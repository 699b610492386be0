import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ports } from '../src/activities/ports.ts';
import { openAIPolicyServer } from '../src/policies/openai-policy-server.ts';
import { ObjectStore } from '../src/store/object-store.ts';
import { PhaseKeys } from '../src/store/phase-keys.ts';
import { RunFolder } from '../src/store/run-folder.ts';
import { FakeTrainer } from '../test/support/fake-trainer.ts';
import { exampleFile, withFields } from '../test/support/experiments.ts';
import { PlainRun } from './plain-epoch.ts';

/** One epoch of `<rollouts>` rollouts against the model server at `<url>`: prints seconds by phase and the peak of resident memory. */
const [rollouts, url] = process.argv.slice(2) as [string, string];
const home = mkdtempSync(join(tmpdir(), 'genenv-bench-'));
const trainer = new FakeTrainer();
const ports: Ports = {
  store: new ObjectStore(join(home, 'store')),
  keys: new PhaseKeys(join(home, 'store')),
  runFolder: (id) => new RunFolder(join(home, 'runs'), id),
  policyServer: (_, timeoutMs) => openAIPolicyServer({ baseUrl: url, apiKey: undefined, timeoutMs }),
  loadOnServer: () => Promise.resolve(),
  launcher: () => trainer,
  python: process.execPath,
  devices: home,
  onShutdown: 'checkpoint',
  searchAttributes: false,
  attempt: () => ({ signal: new AbortController().signal, heartbeat: () => undefined, workerStops: () => false }),
};
const perTask = 8;
const file = withFields(exampleFile, { 'environment.promptsPerEpoch': Number(rollouts) / perTask / 4, 'guards.frozenSamples': 0, 'agent.rolloutsPerTask': perTask, 'durability.shards': 8 });
try {
  const plain = new PlainRun(ports);
  const { run, settings, state } = await plain.prepare('bench', file);
  await plain.epoch(run, settings, 1, state);
  const { 'roll out': rollOut, reward } = plain.seconds as { 'roll out': number; reward: number };
  console.log(JSON.stringify({ rollouts: Number(rollouts), roll_out_seconds: rollOut, reward_seconds: reward, rollouts_per_second: Number(rollouts) / (rollOut + reward), peak_megabytes: process.resourceUsage().maxRSS / 1024 }));
} finally {
  rmSync(home, { recursive: true, force: true });
}
