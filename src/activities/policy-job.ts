import { join } from 'node:path';
import type { ModelSettings } from '../contracts/policy-settings.ts';
import type { PolicyRole, PolicyVersion } from '../contracts/phases.ts';
import type { FileRef } from '../contracts/refs.ts';
import type { JobKind, JobModel, JobSettings, TrainingJob } from '../contracts/training-job.ts';
import { deriveSeed } from '../coevolution/seeds.ts';
import { runJob } from '../training/run-job.ts';
import type { FinishedJob } from '../training/run-job.ts';
import type { Phase } from './phase.ts';
import type { Ports } from './ports.ts';

export interface JobRequest {
  kind: JobKind;
  role: PolicyRole;
  epoch: number;
  model: ModelSettings;
  start: JobModel;
  /** What the KL term and its cap measure the distance to. */
  reference: PolicyVersion | null;
  trainerState: PolicyVersion['trainer_state'];
  batch: FileRef;
  settings: JobSettings;
}

/** Runs a job of the trainer on a policy, on the device that the experiment names. */
export async function policyJob(
  ports: Ports,
  { experiment, inputHash, work }: Phase,
  request: JobRequest,
): Promise<FinishedJob> {
  const { trainer, durability, seed } = experiment;
  const { signal, heartbeat, workerStops } = ports.attempt();
  const adapter = request.model.type === 'pretrained' ? request.model.adapter : null;
  const job: Omit<TrainingJob, 'fence'> = {
    format: 1,
    kind: request.kind,
    input_hash: inputHash,
    seed: deriveSeed(seed, request.epoch, 'train', request.role),
    device: trainer.device,
    threads: trainer.threads,
    precision: trainer.precision,
    gradient_checkpointing: trainer.gradientCheckpointing,
    device_lock: trainer.device === 'cpu' ? null : join(ports.devices, 'device-0.lock'),
    model: request.start,
    adapter: adapter && {
      r: adapter.r,
      alpha: adapter.alpha,
      dropout: adapter.dropout,
      target_modules: adapter.targetModules,
    },
    reference:
      request.reference?.checkpoint && adapter === null
        ? { path: ports.store.path(request.reference.checkpoint) }
        : null,
    trainer_state: request.trainerState && ports.store.path(request.trainerState),
    batch: ports.store.path(request.batch),
    settings: request.settings,
    checkpoint_every: trainer.checkpointEvery,
    orphan_grace_seconds: trainer.orphanGraceSeconds,
  };
  return runJob({
    work: await work(),
    job,
    launcher: ports.launcher(trainer),
    python: ports.python,
    signal,
    detach: () => workerStops() && ports.onShutdown === 'detach',
    stallMs: durability.heartbeatSeconds * 1000,
    onDamage: ports.onDamage,
    onProgress: (progress, msSinceLast) => heartbeat({ ...progress, ms_since_last: msSinceLast }),
  });
}
