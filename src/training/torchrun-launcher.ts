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
      startDetached(python, hostArguments(submission, processes), {
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
export const jobArguments = (submission: JobSubmission, processes: number): string[] =>
  processes === 1 ? trainerArguments(submission) : hostArguments(submission, processes);

/** `--standalone` with an id of our own: its rendezvous takes a free port of this host. */
const hostArguments = (submission: JobSubmission, processes: number): string[] =>
  torchrunArguments(submission, {
    nodes: 1,
    processesPerNode: processes,
    rendezvous: ['--rdzv-backend=c10d', '--rdzv-endpoint=localhost:0', `--rdzv-id=${claimName(submission)}`],
  });

/** Arguments of Python that run a job in one process. */
export const trainerArguments = ({ folder }: JobSubmission): string[] => [
  ...['-m', 'genenv_trainer', 'job', folder],
];

/**
 * Arguments of Python that run one node's processes of a job.
 * @param rendezvous torchrun's options that say how the processes find each other
 */
export const torchrunArguments = (
  submission: JobSubmission,
  {
    nodes,
    processesPerNode,
    rendezvous,
  }: { nodes: number; processesPerNode: number; rendezvous: readonly string[] },
): string[] => [
  ...['-m', 'torch.distributed.run', `--nproc-per-node=${processesPerNode}`, `--nnodes=${nodes}`],
  ...['--max-restarts=0', ...rendezvous, ...trainerArguments(submission)],
];
