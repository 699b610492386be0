/** Settings of training jobs in Slurm: what a file may say, and what the operator of a worker adds. */
import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';

/** A name of Slurm's, which is one word of a command and cannot be an option of it. */
const slurmName = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/, 'expected letters, digits, "_", "." and "-", 64 at most');

export const slurmLauncherSchema = z
  .strictObject({
    type: z.literal('slurm'),
    partition: slurmName.optional().describe('Left out = the cluster’s default.'),
    account: slurmName.optional().describe('Left out = the default of the worker’s user.'),
    qos: slurmName.optional().describe('Quality of service. Left out = the default of the worker’s user.'),
    gpus: z
      .int()
      .min(1)
      .max(64)
      .optional()
      .describe('GPUs of the job’s node (`--gres=gpu:N`). Left out = none.'),
    cpus: z
      .int()
      .min(1)
      .max(4_096)
      .optional()
      .describe('Processors of the job. Left out = trainer.threads for each process.'),
    memoryGigabytes: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('Memory of the job. Left out = the cluster’s default.'),
    timeLimitMinutes: z
      .int()
      .min(2)
      .max(525_600)
      .optional()
      .describe(
        'Slurm ends the job after this; 90 seconds before, it writes a checkpoint, and is submitted again. Left out = ' +
          'the partition’s limit.',
      ),
  })
  .describe(
    'A job of a Slurm cluster whose nodes have the worker’s paths; `sbatch` is on the worker’s PATH.',
  );

export type SlurmSettings = z.infer<typeof slurmLauncherSchema>;

/** The variable with options of `sbatch` that an operator adds to every job. */
export const SLURM_ARGUMENTS = 'GENENV_SLURM_ARGS';

/**
 * Options of `sbatch` that the operator adds, separated by white space. Those that the launcher needs for itself are
 * refused.
 * @throws InvalidConfig
 */
export function slurmArguments(value = ''): string[] {
  const words = value.split(/\s+/).filter((word) => word !== '');
  const wrong = words.find((word) => !/^--[a-z][a-z-]*(=.*)?$/.test(word) || own.test(word));
  if (wrong !== undefined)
    throw new InvalidConfig(
      `${SLURM_ARGUMENTS}: got ${JSON.stringify(wrong.slice(0, 80))}; expected long options of sbatch with "=", ` +
        'separated by spaces, other than those of its job’s name, comment, dependency, signal, output and array',
    );
  return words;
}

const own =
  /^--(?:job-name|comment|dependency|signal|output|error|open-mode|requeue|no-requeue|parsable|wrap|array|wait|test-only|chdir|export)(?:=|$)/;
