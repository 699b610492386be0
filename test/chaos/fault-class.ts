import type { StackKind } from './chaos-stack.ts';
import type { Scene } from './scene.ts';

/**
 * Work that a disturbance may cost: requests asked of the model again, optimizer steps made again, computing
 * activities run again.
 */
export interface Work {
  requests: number;
  steps: number;
  activities: number;
}

export interface Disturbance {
  /** When what was disturbed was back, or the fault was over: the clock of the recovery starts here. */
  back: number;
  /** Most that it may cost; by default what one fault may. */
  allowed?: Partial<Work>;
  /**
   * Where what is promised is a stated rule: a note in the ledger that says so, and whether all but the notes
   * is as in the undisturbed run.
   */
  specified?: { note: RegExp; sameResult: boolean };
  /** Whether a damaged artifact may end an epoch, which the run then makes again. */
  epochMayFail?: boolean;
  /** Whether a host keeps its files of work that another host finished, until `genenv gc` runs there. */
  leavesWork?: boolean;
  /** Why it could not be done here; it then counts neither as recovered nor as failed. */
  skipped?: string;
}

/** One kind of fault. Everything random in it comes from the scene's stream, so a seed repeats it. */
export interface FaultClass {
  name: string;
  /** Its row in the table. */
  row: string;
  /** One of the few in `npm test`. */
  selected?: boolean;
  /** What it needs: `bucket`, runs in a bucket; `ranks`, training jobs of two processes; `slurm`, a Slurm cluster. */
  stack?: StackKind;
  /**
   * Whether the worker was what was disturbed: then work continues within two heartbeat timeouts of a worker
   * being back.
   */
  ofWorker?: boolean;
  /** It takes minutes: only with `--long`. */
  long?: boolean;
  /** Breaks the stack for those after it. */
  ruins?: boolean;
  /** Starts the run, disturbs it, and leaves everything in a state in which it can continue by itself. */
  inject(scene: Scene): Promise<Disturbance>;
}
