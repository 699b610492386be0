// Started by killed.test.ts: kills itself, as a pre-empted machine does, the n-th time that it is about to
// call `call`.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { someKey } from '../some-key.ts';

const [what = '', call = '', times = '', root = ''] = process.argv.slice(2);
const real = fs.promises as unknown as Record<string, (...args: unknown[]) => unknown>;
const original = real[call];
let left = Number(times);
real[call] = (...args) => {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  return original?.(...args);
};
syncBuiltinESMExports();

const { ObjectStore } = await import('../../../src/store/object-store.ts');
const { PhaseCache } = await import('../../../src/store/phase-cache.ts');
const { RunFolder } = await import('../../../src/runs/run-folder.ts');

const work: Record<string, () => Promise<unknown>> = {
  records: () => new ObjectStore(root).putRecords([{ a: 1 }, { a: 2 }]),
  folder: () => new ObjectStore(root).putFolder(join(root, 'output'), { move: true }),
  key: () => new PhaseCache(root).record(someKey(), { done: 1 }),
  ledger: async () => {
    const run = new RunFolder(root, 'run');
    const ledger = run.ledger(await run.writeExperiment({}));
    for (const epoch of [0, 1]) await ledger.append({ epoch, inputs: {}, outputs: {}, metrics: {} });
  },
};
await work[what]?.();
process.stdout.write('survived');
