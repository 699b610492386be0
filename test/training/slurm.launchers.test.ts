import { describe, expect, it } from 'vitest';
import { RealSlurm, slurmCommand, slurmMissing } from '../../test-support/slurm.ts';
import { trial } from './job-trial.ts';
import { slurmContract } from './slurm-contract.ts';

describe.skipIf(slurmMissing !== '')(`the engine slurm${slurmMissing}`, () => {
  slurmContract(
    'training jobs in a real Slurm',
    (folder) => RealSlurm.start(folder),
    ({ cluster, watched }) => {
      it('a controller that is killed and started again finds the job, or the job ends well without it', async () => {
        const job = await trial({ waits_for: 'go' });
        const worker = watched(job);
        await expect.poll(() => job.progress.at(-1)?.step, { timeout: 60_000 }).toBe(1);
        await cluster().controllerAway('SIGKILL');
        await cluster().controllerBack();
        await job.write('go', '');
        expect(await worker.running).toMatchObject({ result: { steps_done: 3 } });
        // A node that holds a job which its controller has forgotten takes no work until an operator says so.
        await slurmCommand(cluster(), 'scontrol', 'update', 'NodeName=ALL', 'State=RESUME').catch(() => '');
      });
    },
  );
});
