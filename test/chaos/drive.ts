import { deriveSeed, randomStream } from '../../src/numerics/random.ts';
import { versityGatewayPath } from '../../test-support/versity-gateway.ts';
import { slurmMissing } from '../../test-support/slurm.ts';
import { ChaosStack, HEARTBEAT_SECONDS } from './chaos-stack.ts';
import type { StackKind } from './chaos-stack.ts';
import type { FaultClass, Work } from './fault-class.ts';
import { describeError, judge } from './oracle.ts';
import { Scene } from './scene.ts';

export interface Outcome {
  index: number;
  name: string;
  row: string;
  recovered: boolean;
  skipped?: string;
  problems: string[];
  seconds: number | null;
  redone: Work;
  duplicates: number;
}

/** One run of the suite: a class of faults, and the number from which everything random in it follows. */
export interface Planned {
  index: number;
  fault: FaultClass;
}

/** The runs from `first` on: every class once in a random order, then all again in another. */
export function plan(classes: readonly FaultClass[], seed: number, first: number, count: number): Planned[] {
  return Array.from({ length: count }, (_, offset) => {
    const index = first + offset;
    const round = Math.floor(index / classes.length);
    return {
      index,
      fault: randomStream(deriveSeed(seed, 'round', round)).shuffle(classes)[index % classes.length]!,
    };
  });
}

const kindOf = ({ fault }: Planned): StackKind => fault.stack ?? 'disk';

/** What its runs need that is not installed; undefined if nothing is missing. */
function missingEngine(kind: StackKind): string | undefined {
  if (kind === 'bucket' && versityGatewayPath() === null) return 'versitygw';
  return kind === 'slurm' && slurmMissing !== '' ? 'slurm' : undefined;
}

const outcomeOf = ({ index, fault: { name, row } }: Planned): Outcome => ({
  ...{ index, name, row, recovered: false, problems: [], seconds: null, redone: nothing, duplicates: 0 },
});
const skippedFor = (planned: Planned, why: string): Outcome => ({ ...outcomeOf(planned), skipped: why });
const nothing: Work = { requests: 0, steps: 0, activities: 0 };

/** Disturbs one run on the stack and judges it. */
export async function disturb(stack: ChaosStack, { index, fault }: Planned, seed: number): Promise<Outcome> {
  stack.reset();
  const scene = new Scene(stack, `chaos-${seed}-${index}`, randomStream(deriveSeed(seed, 'run', index)));
  const outcome = outcomeOf({ index, fault });
  try {
    const disturbance = await fault.inject(scene);
    if (disturbance.skipped !== undefined) return { ...outcome, skipped: disturbance.skipped };
    await scene.finish();
    const verdict = await judge(scene, disturbance, {
      heartbeatMs: HEARTBEAT_SECONDS * 1000,
      ofWorker: fault.ofWorker ?? false,
    });
    return { ...outcome, ...verdict, recovered: verdict.problems.length === 0 };
  } catch (error) {
    return { ...outcome, problems: [describeError(error)] };
  } finally {
    await scene.dispose();
  }
}

/** When the signal says that nobody waits for the run any more. */
const interrupted = (signal: AbortSignal): Promise<'interrupted'> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('interrupted'), { once: true }));

/**
 * All planned runs, on `jobs` stacks at once; none begins after the signal. A stack that a run has broken is
 * replaced.
 */
export async function driveAll(
  planned: readonly Planned[],
  seed: number,
  { jobs, signal, tell }: { jobs: number; signal: AbortSignal; tell: (outcome: Outcome) => void },
): Promise<Outcome[]> {
  // A stack takes a while to start: what needs the same kind comes together.
  const waiting = planned.toSorted((a, b) => kindOf(a).localeCompare(kindOf(b)));
  const outcomes: Outcome[] = [];
  const interruption = interrupted(signal);
  const work = async (): Promise<void> => {
    let stack: ChaosStack | undefined;
    try {
      for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
        const kind = kindOf(next);
        if (stack?.kind !== kind) {
          await stack?.[Symbol.asyncDispose]();
          stack = undefined;
        }
        const engine = missingEngine(kind);
        if (engine !== undefined) {
          const outcome = skippedFor(next, `it takes the engine ${engine}`);
          outcomes.push(outcome);
          tell(outcome);
          continue;
        }
        stack ??= await ChaosStack.start(kind);
        await stack.ready();
        const outcome = await Promise.race([disturb(stack, next, seed), interruption]);
        if (outcome === 'interrupted') break;
        outcomes.push(outcome);
        tell(outcome);
        if (next.fault.ruins === true || outcome.problems.length > 0) {
          await stack[Symbol.asyncDispose]();
          stack = undefined;
        }
      }
    } finally {
      await stack?.[Symbol.asyncDispose]();
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return outcomes.toSorted((a, b) => a.index - b.index);
}
