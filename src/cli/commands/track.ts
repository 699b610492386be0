import { join } from 'node:path';
import { Option } from 'commander';
import { exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addRunCommand } from '../lib/options.ts';

interface TrackOptions {
  to: string;
  project: string;
  uri?: string;
  once?: boolean;
  attached?: boolean;
}

export function addTrack(parts: CommandParts): void {
  addRunCommand(
    parts,
    'track',
    'send the committed epochs of a run to a tracker, each once, until the run has ended',
    '  genenv track laptop --to tensorboard --once\n' +
      '  genenv track laptop --to mlflow --uri http://localhost:5000\n' +
      '  genenv track laptop --to wandb --project my-project',
  )
    .requiredOption('--to <tracker>', 'wandb, mlflow, trackio or tensorboard')
    .option('--project <name>', 'project at the tracker; of MLflow, the experiment', 'genenv')
    .option('--uri <address>', 'address of the tracker’s server (default: as its own variables say)')
    .option('--once', 'send what is committed, and end')
    .addHelpText('after', '\nKeys come from the environment, as each tracker reads them: WANDB_API_KEY, …')
    .addOption(new Option('--attached', 'end when standard input does').hideHelp())
    .action(async (id: string, options: TrackOptions) => parts.exit(await track(id, options, parts.context)));
}

const POLL_MS = 2_000;
/** Each look at a bucket costs requests. */
const BUCKET_POLL_MS = 10_000;
const RETRY_MS = 1_000;

async function track(id: string, options: TrackOptions, context: CliContext): Promise<ExitCode> {
  const { requireRun } = await import('../../runs/run-overview.ts');
  const { sharedPlace } = await import('../../store/shared-folders.ts');
  const { TrackerProcess } = await import('../../tracking/adapter.ts');
  const { Feed } = await import('../../tracking/feed.ts');
  const { followRun } = await import('../../tracking/follow-run.ts');
  const { nameHome } = await import('../../tracking/identity.ts');
  const { parseTracker, trackerEnvironment, trackerPython } = await import('../../tracking/trackers.ts');
  const { Interruption } = await import('../lib/interruption.ts');
  const tracker = parseTracker('--to', options.to);
  const home = homeFolder(context.env);
  const folder = await requireRun(home, id);
  const python = trackerPython(tracker);
  const destination = {
    tracker,
    project: options.project,
    uri: options.uri ?? null,
    folder: tracker === 'tensorboard' ? folder.tensorboardFolder : join(home, 'trackers', tracker),
  };
  const feed = new Feed({ home, runId: id, name: await nameHome(home) });
  const interruption = new Interruption(() =>
    context.warn('Sending what is committed. Ctrl-C again ends now.'),
  );
  const parentEnd = new AbortController();
  if (options.attached === true) process.stdin.on('end', () => parentEnd.abort()).resume();
  try {
    const { last, caughtUp } = await followRun({
      read: (waits) => feed.read(waits),
      createAdapter: () => new TrackerProcess(destination, python, trackerEnvironment(tracker, context.env)),
      once: options.once === true,
      stop: AbortSignal.any([interruption.stop, parentEnd.signal]),
      pollMs: sharedPlace(folder.path) === undefined ? POLL_MS : BUCKET_POLL_MS,
      retryMs: RETRY_MS,
      say: (text) => context.warn(`${tracker}: ${text}`),
    });
    const epochs = last === null ? 'no epoch yet' : `all epochs to ${last}`;
    context.print(caughtUp ? `${id}: ${tracker} has ${epochs}.` : `${id}: ${tracker} has not all epochs.`);
    return caughtUp ? exitCodes.ok : exitCodes.failed;
  } finally {
    interruption.dispose();
  }
}
