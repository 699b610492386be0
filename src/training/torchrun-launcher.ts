import type { Python } from '../processes/python.ts';
import { claimName } from './launcher.ts';
import type { JobSubmission, Launcher } from './launcher.ts';
import { LocalLauncher } from './local-launcher.ts';
import { startDetached } from './process-launcher.ts';

/**
 * Starts torchrun with N processes on this host. They are sessions of their own, which end with torchrun; asked to
 * end, torchrun gives them 30 s to write a checkpoint.
 * @param variables that the processes get besides those of Python's processes
 */
export function torchrunLauncher(
  python: Python,
  variables: Record<string, string>,
  processes: number,
): Launcher {
  return new LocalLauncher(
    'torchrun',
    python,
    (submission) =>
      startDetached(python, torchrunArguments(submission, processes), {
        folder: submission.folder,
        variables,
      }),
    // torchrun itself only waits; what its processes do, the one that writes progress does.
    { measures: 'writer' },
  );
}

/**
 * Arguments of Python that run a job, in as many processes of one host as it has devices. torchrun starts none of
 * them again: whoever watches the job does.
 */
export function jobArguments(submission: JobSubmission, processes: number): string[] {
  const job = ['-m', 'genenv_trainer', 'job', submission.folder];
  return processes === 1 ? job : torchrunArguments(submission, processes);
}

/** `--standalone` with an id of our own: its rendezvous takes a free port of this host. */
export const torchrunArguments = (submission: JobSubmission, processes: number): string[] => [
  ...['-m', 'torch.distributed.run', '--nnodes=1', `--nproc-per-node=${processes}`, '--max-restarts=0'],
  ...['--rdzv-backend=c10d', '--rdzv-endpoint=localhost:0', `--rdzv-id=${claimName(submission)}`],
  ...['-m', 'genenv_trainer', 'job', submission.folder],
];
