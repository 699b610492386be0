import { resolve } from 'node:path';
import { RunFolder } from '../runs/run-folder.ts';
import { runsFolder } from '../runs/run-overview.ts';
import { TrackerProcess } from './adapter.ts';
import { Feed } from './feed.ts';
import { followRun } from './follow-run.ts';
import { nameHome } from './identity.ts';
import { trackerEnvironment, trackerPython } from './trackers.ts';

/** What the adapter says if a follower (`--track tensorboard`) writes the same files. */
const BUSY = 'another process sends this run to this tracker';

/**
 * Brings the TensorBoard files of a run's folder up to date with its ledger; a follower that writes them already
 * does it itself.
 * @throws Error with what Python said
 */
export async function writeTensorboard({
  home: folder,
  runId,
  env,
}: {
  home: string;
  runId: string;
  env: NodeJS.ProcessEnv;
}): Promise<void> {
  const home = resolve(folder);
  const run = new RunFolder(runsFolder(home), runId);
  try {
    const python = trackerPython('tensorboard');
    const feed = new Feed({ home, runId, name: await nameHome(home) });
    const snapshot = await feed.read(false);
    await followRun({
      read: () => Promise.resolve(snapshot),
      createAdapter: () =>
        new TrackerProcess(
          { tracker: 'tensorboard', project: 'genenv', uri: null, folder: run.tensorboardFolder },
          python,
          trackerEnvironment('tensorboard', env),
        ),
      once: true,
      stop: new AbortController().signal,
      pollMs: 0,
      retryMs: 0,
      say: () => undefined,
    });
  } catch (error) {
    const { message } = error as Error;
    if (message.includes(BUSY)) return;
    throw new Error(
      `Cannot write TensorBoard files of ${run.path}: ${message}. The run and its report are not affected.`,
      { cause: error },
    );
  }
}
