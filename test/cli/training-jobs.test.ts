import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkSlurm } from '../../src/cli/lib/slurm-checks.ts';
import { jobsText, jobStatus, storedJobs } from '../../src/cli/lib/training-jobs.ts';
import { seal } from '../../src/training/job-folder.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const [job, log] = ['Slurm job 42', 'cat /store/work/log.txt'];

it.each([
  [{ queued: 'Resources, position 3' }, 'queued: Resources, position 3'],
  [{ phase: 'step', step: 3, steps: 8 }, 'step 3 of 8'],
  [{ phase: 'loading', step: 0, steps: 0 }, 'loading'],
  [{}, 'starting'],
])('a job says where it stands: %o', (details, state) => {
  expect(jobStatus({ job, log, ...details })).toEqual({ job, log, state });
  expect(jobsText([{ job, log, state }], '  ')).toBe(`Slurm job 42: ${state}\n  cat /store/work/log.txt`);
});

it('jobs of the store are listed with the command that prints their logs; what is damaged is passed over', async () => {
  const store = await temporaryFolder();
  const launch = { type: 'slurm', key: 'a'.repeat(64), fence: 2, id: null, submitted: 0 };
  for (const [name, text] of [
    ['0001-train-agent-a', seal(launch)],
    ['0001-train-agent-b', seal(launch).replace('slurm', 'ray')],
  ] as const) {
    mkdirSync(join(store, 'work', 'night', name), { recursive: true });
    writeFileSync(join(store, 'work', 'night', name, 'launch.json'), text);
  }
  expect(await storedJobs(store)).toEqual([
    {
      job: 'slurm job genenv-aaaaaaaaaaaa-2 of night',
      log: `cat ${store}/work/night/0001-train-agent-a/log.txt`,
    },
  ]);
  expect(await storedJobs(join(store, 'absent'))).toEqual([]);
});

it('doctor says that Slurm is missing, has no such partition, or is there', async () => {
  const bin = await temporaryFolder();
  const check = (partition?: string) =>
    checkSlurm(
      { type: 'slurm', ...(partition !== undefined && { partition }) },
      { PATH: `${bin}:/bin:/usr/bin` },
    );
  expect(await check()).toMatchObject({
    state: 'missing',
    finding: expect.stringContaining('ENOENT') as string,
  });
  const script = (name: string, text: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  script('sbatch', 'echo slurm-wlm 22.05.8');
  script('sinfo', 'echo "slurm_load_partitions: Unable to contact slurm controller" >&2; exit 1');
  expect(await check()).toMatchObject({
    state: 'missing',
    finding: 'slurm_load_partitions: Unable to contact slurm controller',
  });
  script('sinfo', 'echo "cpu|up|4"; echo "gpu|up|2"');
  expect(await check('gpu')).toMatchObject({
    state: 'ok',
    finding: 'slurm-wlm 22.05.8; partition gpu: up, 2 nodes',
  });
  expect(await check('tpu')).toMatchObject({
    state: 'missing',
    finding: 'no partition "tpu"; there are cpu, gpu',
  });
});
