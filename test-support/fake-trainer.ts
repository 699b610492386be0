import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sum } from '../src/numerics/arithmetic.ts';
import { hashOf, sha256 } from '../src/store/canonical-json.ts';
import { seal } from '../src/training/job-folder.ts';
import { logCommand, plannedHandle } from '../src/training/launcher.ts';
import type { JobHandle, JobState, JobSubmission, Launcher } from '../src/training/launcher.ts';
import type { JobResult, TrainingJob } from '../src/types/training-job.ts';
import { fakeCanary, weightsIn } from './fake-weights.ts';

/** A record of a batch, as the trainer reads it (docs/training-jobs.md). */
export interface BatchRecord {
  step: number;
  group_id: string;
  advantage: number;
  weight: number;
  token_ids: number[];
  mask: number[];
  logprobs: number[];
  prompt?: string;
}

export interface TrainedJob {
  job: TrainingJob;
  records: BatchRecord[];
}

/** How a job ends other than well: the reason in its exit.json. */
export type Ending = { reason: string; message: string };

/**
 * A trainer that costs nothing: `submit` does the whole job before it returns, with weights that are hashes
 * of what they were trained on. Equal jobs leave equal bytes, and one without anything to learn from leaves
 * the weights it was given.
 */
export class FakeTrainer implements Launcher {
  readonly type = 'process';
  readonly pollMs = 1_000;
  readonly settleMs = 0;
  readonly preempts = false;
  /** Jobs done, in order. */
  readonly jobs: TrainedJob[] = [];
  /** How the next jobs end instead, one each. */
  readonly nextEndings: Ending[] = [];
  /** What the cap did in the next updates of a simulator, one each; nothing if absent. */
  readonly nextKls: JobResult['kl'][] = [];
  /** Called with the work folder of each job that has its result. */
  afterResult?: (folder: string) => Promise<void>;
  readonly #keepJobs: boolean;

  /** @param keepJobs false for benchmarks, where they would be most of the memory */
  constructor({ keepJobs = true }: { keepJobs?: boolean } = {}) {
    this.#keepJobs = keepJobs;
  }

  /** It has no process. */
  async submit(submission: JobSubmission): Promise<JobHandle> {
    await this.#run(submission.folder);
    return plannedHandle(this.type, submission);
  }

  state(): Promise<JobState> {
    return Promise.resolve({ state: 'ended' });
  }

  cancel(): Promise<boolean> {
    return Promise.resolve(false);
  }

  logs({ folder }: JobHandle): string {
    return logCommand(folder);
  }

  describe(): string {
    return 'the fake trainer';
  }

  async #run(folder: string): Promise<void> {
    const job = JSON.parse(await readFile(join(folder, 'job.json'), 'utf8')) as TrainingJob;
    await appendProgress(folder, 'loading', 0, 0);
    const ending = this.nextEndings.shift();
    if (ending !== undefined) return writeJson(join(folder, 'exit.json'), ending);
    const batch = await readFile(job.batch, 'utf8');
    const records = batch
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as BatchRecord);
    if (this.#keepJobs) this.jobs.push({ job, records });
    const result = resultOf(job, records);
    if (job.kind === 'rwr') result.kl = this.nextKls.shift() ?? result.kl;
    for (let step = 1; step <= result.steps_done; step++)
      await appendProgress(folder, 'step', step, result.steps);
    const measures = job.kind === 'gradient_norms';
    if (!measures) await writeOutput(folder, job, result.steps_done === 0 ? '' : batch);
    await appendProgress(folder, 'saving', result.steps, result.steps);
    const output = measures
      ? null
      : {
          checkpoint: await hashOfFolder(join(folder, 'output', 'checkpoint')),
          trainer_state: await hashOfFolder(join(folder, 'output', 'trainer-state')),
        };
    const isAdapter = !measures && job.adapter !== null;
    const canary = isAdapter ? fakeCanary(weightsIn(join(folder, 'output', 'checkpoint'))) : null;
    await writeJson(join(folder, 'result.json'), { ...result, output, canary });
    await this.afterResult?.(folder);
    await writeJson(join(folder, 'exit.json'), { reason: 'finished', message: '' });
  }
}

function resultOf(
  job: TrainingJob,
  records: readonly BatchRecord[],
): Omit<JobResult, 'output'> & { kind: string } {
  const steps = new Set(records.map(({ step }) => step)).size;
  const informative = new Set(
    records.filter(({ advantage }) => advantage !== 0).map(({ group_id }) => group_id),
  ).size;
  const tooFew = job.kind === 'grpo' && informative < job.settings.min_informative_groups;
  const tooFewReason = tooFew ? 'too_few_informative_groups' : null;
  const skipped = steps === 0 ? 'empty_batch' : tooFewReason;
  const number = createHash('sha256').update(job.input_hash).digest().readUInt16BE(0) / 65_536;
  const metrics = {
    loss: number,
    grad_norm: number,
    kl: 0.01,
    entropy: 1,
    num_tokens: records.length,
    learning_rate: job.settings.learning_rate,
    'sampling/sampling_logp_difference/mean': 0,
    'sampling/sampling_logp_difference/max': 0,
    'clip_ratio/low_mean': 0,
    'clip_ratio/high_mean': 0,
    'clip_ratio/region_mean': 0,
  };
  return {
    format: 1,
    input_hash: job.input_hash,
    kind: job.kind,
    steps,
    steps_done: skipped === null ? steps : 0,
    skipped,
    skipped_steps: skipped === null || steps === 0 ? {} : { [skipped]: steps },
    kl: { before: 0, after: 0.01, rule: 'none' },
    metrics: skipped === null ? metrics : {},
    groups: job.kind === 'gradient_norms' ? groupsOf(records) : [],
  };
}

/** Every rollout has a gradient of length 1, so the signal of a group is the variance of its rewards. */
function groupsOf(records: readonly BatchRecord[]): JobResult['groups'] {
  return [...Map.groupBy(records, ({ group_id }) => group_id)].map(([group_id, group]) => ({
    group_id,
    rollouts: group.length,
    squared_score: 1,
    squared_norm: sum(group.map(({ advantage }) => advantage ** 2)) / group.length,
    tokens: sum(group.map(({ mask }) => mask.filter(Boolean).length)) / group.length,
  }));
}

/**
 * The checkpoint and trainer state: new ones where there was something to learn from, else those that were
 * given.
 */
async function writeOutput(folder: string, job: TrainingJob, learnt: string): Promise<void> {
  const before =
    'path' in job.model ? await textOf(job.model.path) : `${job.seed} ${JSON.stringify(job.model)}`;
  const weights =
    learnt === '' && 'path' in job.model
      ? before
      : createHash('sha256').update(before).update(learnt).digest('hex');
  await writeFolder(join(folder, 'output', 'checkpoint'), { 'weights.txt': weights });
  await writeFolder(join(folder, 'output', 'trainer-state'), {
    'state.txt': `${job.trainer_state === null ? '' : await textOf(job.trainer_state)}${learnt === '' ? '-' : '+'}`,
  });
}

async function writeFolder(folder: string, files: Record<string, string>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

async function hashOfFolder(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  return hashOf(
    await Promise.all(names.map(async (path) => ({ path, ...facts(await readFile(join(folder, path))) }))),
  );
}

const facts = (data: Buffer): { sha256: string; bytes: number } => ({
  sha256: sha256(data),
  bytes: data.length,
});

async function textOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

const writeJson = (path: string, value: object): Promise<void> => writeFile(path, seal(value));

const appendProgress = (folder: string, phase: string, step: number, steps: number): Promise<void> =>
  writeFile(join(folder, 'progress.jsonl'), `${JSON.stringify({ phase, step, steps, pid: process.pid })}\n`, {
    flag: 'a',
  });
