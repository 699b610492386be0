// Started twice by races.test.ts: says it is ready, waits for the start, does the same as its rival, and says
// what it got.
import { ObjectStore } from '../../../src/store/object-store.ts';
import { PhaseCache } from '../../../src/store/phase-cache.ts';
import { openWork } from '../../../src/store/work-folder.ts';
import { someKey } from '../some-key.ts';

const [what = '', root = '', source = ''] = process.argv.slice(2);
const rounds = Array.from({ length: 15 }, (_, round) => round);

const races: Record<string, () => Promise<unknown[]>> = {
  put: () => inTurn((round) => new ObjectStore(root).putRecords([{ round }, { text: 'x'.repeat(10_000) }])),
  folder: () => inTurn(() => new ObjectStore(root).putFolder(source)),
  record: () => inTurn((epoch) => new PhaseCache(root).record(someKey({ epoch }), { winner: process.pid })),
  claim: () => inTurn(async () => (await (await openWork(root, someKey())).claim()).number),
};

async function inTurn(work: (round: number) => Promise<unknown>): Promise<unknown[]> {
  const results = [];
  for (const round of rounds) results.push(await work(round));
  return results;
}

process.once('message', () => {
  void races[what]?.().then((results) => {
    process.send?.(results);
    process.disconnect();
  });
});
process.send?.('ready');
