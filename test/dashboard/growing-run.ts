import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeRun } from '../report/make-run.ts';

/** A run whose epochs are committed one after the other, as a test wants them. */
export interface GrowingRun {
  id: string;
  /** Commits the next epoch, as the activity does: the ledger first. */
  commitNext: () => Promise<number>;
}

/**
 * Makes a run of some epochs that has committed the first few of them.
 * @param committed of its epochs at first
 */
export async function growingRun(
  home: string,
  { id = 'growing', epochs = 12, committed = 6 }: { id?: string; epochs?: number; committed?: number } = {},
): Promise<GrowingRun> {
  const { run } = await makeRun({ home, runId: `${id}-source`, epochs, planned: 40 });
  const folder = join(home, 'runs', id);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'experiment.json'), await readFile(run.experimentFile));
  await writeFile(join(folder, 'events.jsonl'), '{"time":"2026-11-21T09:00:00.000Z","type":"started"}\n');
  const linesOf = async (file: string) => (await readFile(file, 'utf8')).trim().split('\n');
  const [ledger, metrics] = [await linesOf(run.ledgerFile), await linesOf(run.metricsFile)];
  let epoch = -1;
  const commitNext = async () => {
    epoch += 1;
    await appendFile(join(folder, 'ledger.jsonl'), `${ledger[epoch]}\n`);
    await appendFile(join(folder, 'metrics.jsonl'), `${metrics[epoch]}\n`);
    return epoch;
  };
  while (epoch < committed) await commitNext();
  return { id, commitNext };
}
