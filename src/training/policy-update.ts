import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installedModelFolder, modelFolder } from '../config/model-folder.ts';
import type { ModelSettings } from '../config/models.ts';
import { deriveSeed } from '../numerics/random.ts';
import type { RunFolders } from '../runs/result-folders.ts';
import type { HasActivityContext, PhaseStorage } from '../runtime/dependencies.ts';
import type { Phase } from '../runtime/run-once.ts';
import { writeCanary } from '../store/canaries.ts';
import { errorCode, InvalidArtifact } from '../store/errors.ts';
import type { FileRef, FolderRef } from '../store/references.ts';
import type { Trained } from '../types/activity-types.ts';
import type { PolicyRole, PolicyVersion } from '../types/run-state.ts';
import type {
  JobKind,
  JobModel,
  JobProgress,
  JobResult,
  JobSettings,
  TrainingJob,
} from '../types/training-job.ts';
import { JobFolder } from './job-folder.ts';
import { policyName } from '../types/run-state.ts';
import type { UpdateSummary } from './learnable-batch.ts';
import { runJob } from './run-job.ts';
import type { FinishedJob, TrainingBackend } from './run-job.ts';
import { removeEarlierJobs } from './shared-checkpoints.ts';
import { claimName, givesDevices } from './launcher.ts';
import type { JobHandle } from './launcher.ts';
import { TrainerFailed } from './watch-job.ts';

type TrainingDependencies = PhaseStorage &
  HasActivityContext &
  TrainingBackend &
  Pick<RunFolders, 'runFolder'>;

/** Runs a training job and moves its output into the store: checkpoint and trainer state. */
export async function trainPolicy(
  dependencies: TrainingDependencies,
  context: Phase,
  request: JobRequest,
): Promise<Trained & { result: JobResult }> {
  const folder = await context.work();
  await removeEarlierJobs(folder.path, dependencies.onDamage);
  const { result, tokensPerMicroBatch } = await runPolicyJob(dependencies, context, request);
  const [checkpoint, trainer_state] = await storeOutput(dependencies, folder.path, result);
  if (result.canary) await writeCanary(dependencies.store.root, checkpoint, result.canary);
  const name = policyName(request.role, request.epoch, checkpoint.sha256);
  return {
    policy: { name, checkpoint, trainer_state },
    metrics: result.metrics,
    note: updateNote(request.role, result, {
      requested: request.settings.tokens_per_micro_batch,
      used: tokensPerMicroBatch,
    }),
    result,
  };
}

/**
 * Moves the output of a job into the store if it is still what the job wrote. Else the output is discarded,
 * so that the job resumes from its last step checkpoint.
 * @throws TrainerFailed for output that is damaged or missing
 */
async function storeOutput(
  dependencies: TrainingDependencies,
  folder: string,
  { output }: JobResult,
): Promise<[checkpoint: FolderRef, trainerState: FolderRef]> {
  if (output === null)
    throw new TrainerFailed(`${folder}: the result names no output; a job that trains writes its weights`);
  const job = new JobFolder(folder, dependencies.python, dependencies.onDamage);
  const move = async (name: 'checkpoint' | 'trainer-state', expected: string): Promise<FolderRef> =>
    dependencies.store.putFolder(await job.outputFolder(name), { move: true, expected });
  try {
    const checkpoint = await move('checkpoint', output.checkpoint);
    const trainerState = await move('trainer-state', output.trainer_state);
    return [checkpoint, trainerState];
  } catch (error) {
    if (!(error instanceof InvalidArtifact) && errorCode(error) !== 'ENOENT') throw error;
    dependencies.onDamage({
      file: join(folder, 'output'),
      problem: `it is not what the trainer wrote: ${error instanceof Error ? error.message : ''}`,
    });
    await job.discardOutput();
    throw new TrainerFailed(
      `the output of ${folder} was damaged after the trainer wrote it; the job continues from its last step`,
      { cause: error },
    );
  }
}

/**
 * What an update reports besides its metrics; null if there is nothing to report.
 * @param budget tokens of a micro-batch, if there were any
 */
export function updateNote(
  role: PolicyRole,
  { steps, skipped, skipped_steps, kl }: UpdateSummary,
  budget?: { requested: number; used: number },
): string | null {
  const notes: string[] = [];
  if (skipped !== null) {
    notes.push(`no update (${skipped})`);
  } else {
    const reasons = Object.entries(skipped_steps).filter(([reason]) => reason !== 'kl_cap');
    for (const [reason, count] of reasons)
      notes.push(`${count} of ${steps} steps changed nothing (${reason})`);
  }
  if (kl.rule === 'pull_back') {
    const [before, after] = [kl.before, kl.after].map((value) => value?.toFixed(3) ?? '?');
    notes.push(`KL ${before} above its cap, pulled back to ${after}`);
  }
  if (kl.rule === 'restored') notes.push('KL above twice its cap, the last step below it was kept');
  if (budget !== undefined && budget.used < budget.requested)
    notes.push(
      `out of memory, went on with ${budget.used} instead of ${budget.requested} tokens a micro-batch`,
    );
  return notes.length === 0 ? null : `${role}: ${notes.join('; ')}`;
}

/**
 * Packed batches are faster and smaller. Their sums run in another order, so models from scratch keep the
 * layout, and the bytes, that their runs began with. What is measured record by record has nothing to pack.
 */
const batchLayout = ({ kind, model }: JobRequest): JobSettings['batch_layout'] =>
  model.type === 'pretrained' && kind !== 'gradient_norms' ? 'packed' : 'padded';

export interface JobRequest {
  kind: JobKind;
  role: PolicyRole;
  epoch: number;
  model: ModelSettings;
  start: JobModel;
  /** The policy that the KL term and its cap refer to; null = none. */
  reference: PolicyVersion | null;
  trainerState: PolicyVersion['trainer_state'];
  batch: FileRef;
  settings: JobSettings;
  /** Whose time by phase a wait in a queue is part of; null for what is no phase of a run. */
  phase: { run: string; name: string } | null;
}

/** Runs a job of the trainer on a policy, on the device of the experiment. @throws what `runJob` throws */
export async function runPolicyJob(
  dependencies: TrainingDependencies,
  { experiment, inputHash, work }: Phase,
  request: JobRequest,
): Promise<FinishedJob> {
  const { trainer, durability, seed } = experiment;
  const { signal, heartbeat, isWorkerStopping, isSuperseded } = dependencies.activityContext();
  const { store, devices } = dependencies;
  const { reference, trainerState } = request;
  let last: JobProgress | undefined;
  const launcher = dependencies.launcher(trainer);
  const backEnd = (handle: JobHandle): object => ({
    job: launcher.describe(handle),
    log: launcher.logs(handle),
  });
  const adapter = request.model.type === 'pretrained' ? request.model.adapter : null;
  const job: Omit<TrainingJob, 'fence'> = {
    format: 1,
    kind: request.kind,
    input_hash: inputHash,
    seed: deriveSeed(seed, request.epoch, 'train', request.role),
    device: trainer.device,
    threads: trainer.threads,
    random_stream: trainer.processes === undefined ? 'job' : 'micro_batch',
    // A job that measures takes whole weights.
    sharding: request.kind === 'gradient_norms' ? 'none' : (trainer.sharding ?? 'none'),
    precision: trainer.precision,
    gradient_checkpointing: trainer.gradientCheckpointing,
    device_lock:
      trainer.device === 'cpu' || givesDevices(launcher.type) ? null : join(devices, 'device-0.lock'),
    model: 'path' in request.start ? { path: installedModelFolder(request.start.path) } : request.start,
    adapter: adapter && {
      r: adapter.r,
      alpha: adapter.alpha,
      dropout: adapter.dropout,
      target_modules: adapter.targetModules,
    },
    reference:
      reference?.checkpoint && !startsFromBaseModel(request.model)
        ? { path: await store.localPath(reference.checkpoint) }
        : null,
    trainer_state: trainerState && (await store.localPath(trainerState)),
    batch: await store.localPath(request.batch),
    settings: { ...request.settings, batch_layout: batchLayout(request) },
    checkpoint_every: trainer.checkpointEvery,
    orphan_grace_seconds: trainer.orphanGraceSeconds,
  };
  const report = (newSteps: number, gpuMemoryBytes: number): void =>
    dependencies.onTraining?.({ kind: request.kind, newSteps, gpuMemoryBytes });
  return runJob({
    work: await work(),
    job,
    launcher,
    python: dependencies.python,
    signal,
    // The next attempt finds the job of a cluster from every host, but a process on its own host alone.
    detach: () =>
      (isWorkerStopping() && dependencies.onShutdown === 'detach') ||
      (isSuperseded() && givesDevices(launcher.type)),
    stallMs: durability.heartbeatSeconds * 1000,
    onDamage: dependencies.onDamage,
    traceParent: dependencies.traceParent?.(),
    onTransferred: (transferring) => heartbeat({ ...last, transferring }),
    onProgress: (progress, msSinceLast, newSteps, handle) => {
      last = progress;
      report(newSteps, progress.gpu_memory_bytes ?? 0);
      heartbeat({ ...progress, ms_since_last: msSinceLast, ...backEnd(handle) });
    },
    onWork: (msSinceLast, handle) =>
      heartbeat({ ...last, computing: true, ms_since_last: msSinceLast, ...backEnd(handle) }),
    onQueued: ({ reason, position }, handle) =>
      heartbeat({ queued: queueText(reason, position), ...backEnd(handle) }),
    onWaited: async (seconds, handle) => {
      if (request.phase === null) return;
      const { run, name } = request.phase;
      const event = { type: 'queued', epoch: request.epoch, phase: name, job: claimName(handle), seconds };
      await dependencies.runFolder(run).appendEvent(event);
    },
  }).finally(() => report(0, 0));
}

const queueText = (reason: string, position: number | undefined): string =>
  position === undefined ? reason : `${reason}, position ${position}`;

/**
 * Whether the initial policy is the model with its adapter switched off: a new adapter changes nothing, unless a
 * warm-up trains it, or the model's folder is an adapter itself.
 */
function startsFromBaseModel(model: ModelSettings): boolean {
  if (model.type === 'scratch' || model.adapter === null || model.warmUp) return false;
  return !existsSync(join(modelFolder(model.path), 'adapter_config.json'));
}
