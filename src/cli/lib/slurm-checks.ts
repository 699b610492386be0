import type { SlurmSettings } from '../../config/slurm.ts';
import { childEnvironment } from '../../processes/child-environment.ts';
import { runProgram } from '../../processes/program.ts';
import { missing, ok } from './check.ts';
import type { Check } from './check.ts';

const what = 'Slurm';

/** Whether this machine reaches the cluster, and the cluster has the partition. */
export async function checkSlurm({ partition }: SlurmSettings, env: NodeJS.ProcessEnv): Promise<Check> {
  const options = { env: childEnvironment(env), timeoutMs: 30_000 };
  const run = (command: string, ...args: string[]) => runProgram(command, args, options);
  const version = await run('sbatch', '--version');
  if (version.code !== 0)
    return missing(
      what,
      `sbatch: ${firstLine(version.stderr)}`,
      'put Slurm’s commands on the PATH of the worker (docs/slurm.md)',
    );
  const partitions = await run('sinfo', '--noheader', '--format=%R|%a|%D');
  if (partitions.code !== 0)
    return missing(
      what,
      firstLine(partitions.stderr),
      'ask the cluster’s operators, or set SLURM_CONF (docs/slurm.md)',
    );
  const lines = partitions.stdout.split('\n').map((line) => line.trim().split('|'));
  const line = lines.find(([name]) => partition === undefined || name === partition);
  if (line?.[2] === undefined)
    return missing(
      what,
      `no partition ${JSON.stringify(partition ?? '')}; there are ${lines
        .map(([name]) => name)
        .filter((name) => name !== '')
        .join(', ')}`,
      'correct trainer.launcher.partition',
    );
  return ok(what, `${version.stdout.trim()}; partition ${line[0]}: ${line[1]}, ${line[2]} nodes`);
}

const firstLine = (text: string): string => text.trim().split('\n')[0]!.slice(0, 300);
