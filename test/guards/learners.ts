import type { RandomStream } from '../../src/numerics/random.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import type { TaskRecord } from '../../src/types/records.ts';
import type { BatchRecord, TrainedJob } from '../../test-support/fake-trainer.ts';
import type { SomeRun } from '../activities/some-run.ts';

/** What the policy itself wrote in a record of a batch, and what it was asked. */
export const textOf = ({ token_ids, mask }: BatchRecord): string =>
  String.fromCharCode(...token_ids.filter((id, index) => mask[index] === 1 && id !== 0));
export const promptOf = ({ token_ids, mask }: BatchRecord): string =>
  String.fromCharCode(...token_ids.filter((_, index) => mask[index] === 0));

/**
 * A simulator that learns as reward-weighted regression does, without a model: it draws the kind of its next
 * task from a table, and each update moves the table half of the way to the weighted shares of the batch,
 * which is where the regression has its optimum.
 */
export class LearningSimulator {
  readonly #initial: ReadonlyMap<string, number>;
  readonly #kindOf: (task: string) => string;
  readonly #write: (kind: string, random: RandomStream) => string;
  shares: ReadonlyMap<string, number>;

  constructor(
    shares: Record<string, number>,
    kindOf: (task: string) => string,
    write: (kind: string, random: RandomStream) => string,
  ) {
    this.#initial = new Map(Object.entries(shares));
    this.shares = this.#initial;
    this.#kindOf = kindOf;
    this.#write = write;
  }

  /** The initial simulator, which is served with the current one, does not learn. */
  readonly task = (_: string, random: RandomStream, model: string): string => {
    let left = random.next();
    const shares = model.startsWith('environment@0000') ? this.#initial : this.shares;
    const kind = [...shares].find(([, share]) => (left -= share) < 0)?.[0] ?? [...shares.keys()].at(-1)!;
    return this.#write(kind, random);
  };

  learn({ records }: TrainedJob): void {
    const totalWeight = records.reduce((sum, { weight }) => sum + weight, 0);
    if (totalWeight === 0) return;
    const shareOf = (kind: string): number =>
      records
        .filter((record) => this.#kindOf(textOf(record)) === kind)
        .reduce((sum, { weight }) => sum + weight, 0) / totalWeight;
    this.shares = new Map([...this.shares].map(([kind, share]) => [kind, (share + shareOf(kind)) / 2]));
  }
}

/** Runs epochs one by one, and shows the learners what was trained on in each. */
export async function learnFor(
  run: SomeRun,
  epochs: number,
  learners: { simulator?: LearningSimulator; agent?: (job: TrainedJob) => void },
): Promise<CommittedEpoch> {
  let committed = run.prepared;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const before = run.trainer.jobs.length;
    committed = await run.epochs(epoch, committed);
    for (const job of run.trainer.jobs.slice(before)) {
      if (job.job.kind === 'rwr') learners.simulator?.learn(job);
      if (job.job.kind === 'grpo') learners.agent?.(job);
    }
  }
  return committed;
}

export async function linesOf({ dependencies, plan }: SomeRun): Promise<LedgerEntry[]> {
  return (await dependencies.runFolder(plan.run.id).open<LedgerEntry>())!.ledger.read();
}

export async function tasksOf(run: SomeRun, epoch: number): Promise<TaskRecord[]> {
  return run.records<TaskRecord>((await linesOf(run)).find((line) => line.epoch === epoch)!.outputs.tasks);
}

/** The last update of the simulator. */
export const lastUpdate = ({ trainer }: SomeRun): BatchRecord[] =>
  trainer.jobs.findLast(({ job: { kind } }) => kind === 'rwr')?.records ?? [];
