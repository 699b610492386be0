/** Training jobs as `genenv status` and `genenv doctor` show them: where they are, and what prints their logs. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { z } from 'zod';
import { epochWorkflowId } from '../../formats/epoch-id.ts';
import { Python } from '../../processes/python.ts';
import { JobFolder } from '../../training/job-folder.ts';
import { claimName, logCommand } from '../../training/launcher.ts';
import { QUERY_MS } from './run-activity.ts';

const text = z.string().max(10_000);
/** Heartbeat details of an activity that trains (src/training/policy-update.ts). */
const detailsSchema = z.object({
  job: text,
  log: text,
  queued: text.optional(),
  phase: text.optional(),
  step: z.number().optional(),
  steps: z.number().optional(),
});

export interface JobStatus {
  /** `Slurm job 42` */
  job: string;
  /** `queued: Resources, position 3` or `step 3 of 8` */
  state: string;
  /** The command that prints its log. */
  log: string;
}

/** Jobs that the run's activities wait for now, by what they have last said to Temporal. */
export async function currentJobs(client: Client, id: string, epoch: number): Promise<JobStatus[]> {
  // The preparation, epoch 0, runs in the run's own workflow.
  const workflows = [...new Set([id, epochWorkflowId(id, epoch)])];
  const jobs = await Promise.all(workflows.map((workflow) => jobsOf(client, workflow).catch(() => [])));
  return jobs.flat();
}

async function jobsOf(client: Client, workflow: string): Promise<JobStatus[]> {
  const { raw } = await client.withDeadline(Date.now() + QUERY_MS, () =>
    client.workflow.getHandle(workflow).describe(),
  );
  const jobs: JobStatus[] = [];
  for (const { heartbeatDetails } of raw.pendingActivities ?? []) {
    const payload = heartbeatDetails?.payloads?.[0];
    if (!payload) continue;
    const parsed = detailsSchema.safeParse(await valueOf(client, payload));
    if (parsed.success) jobs.push(jobStatus(parsed.data));
  }
  return jobs;
}

/** What a payload holds, decrypted as the client's data converter does. */
async function valueOf(client: Client, payload: Payload): Promise<unknown> {
  const { payloadConverter, payloadCodecs } = client.options.loadedDataConverter;
  let payloads = [payload];
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  return payloadConverter.fromPayload(payloads[0]!);
}

export function jobStatus({
  job,
  log,
  queued,
  phase,
  step,
  steps,
}: z.infer<typeof detailsSchema>): JobStatus {
  if (queued !== undefined) return { job, log, state: `queued: ${queued}` };
  const isStep = phase === 'step' && step !== undefined && steps !== undefined;
  return { job, log, state: isStep ? `step ${step} of ${steps}` : (phase ?? 'starting') };
}

export const jobsText = (jobs: readonly JobStatus[], indent: string): string =>
  jobs.map(({ job, state, log }) => `${job}: ${state}\n${indent}${log}`).join(`\n${indent}`);

/** Jobs whose work folders are in a store of this host: those under way, and those that wait for an attempt. */
export async function storedJobs(store: string): Promise<Omit<JobStatus, 'state'>[]> {
  const work = join(store, 'work');
  const jobs: Omit<JobStatus, 'state'>[] = [];
  for (const run of await names(work))
    for (const name of await names(join(work, run))) {
      const folder = new JobFolder(join(work, run, name), new Python('python3', {}), () => undefined);
      const launch = await folder.launch().catch(() => undefined);
      if (launch === undefined) continue;
      const job = `${launch.type} job ${launch.id ?? claimName(launch)} of ${run}`;
      jobs.push({ job, log: logCommand(folder.path) });
    }
  return jobs;
}

const names = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
