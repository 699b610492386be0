/**
 * Waiting for model servers, and for the store (a full disk, a bucket), while they are away. An activity that
 * meets one fails at once, its workflow waits and runs it again, without end unless the settings limit an outage.
 * So the workflow knows what it waits for, and shows it; and no activity's attempts are used up by an outage.
 */
import {
  ApplicationFailure,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  patched,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { ModelOutage, OutageDetails, OutageReport } from '../types/outage-types.ts';
import { outageSignal } from './messages.ts';
import { outageOf } from './outage-failures.ts';

const minute = 60_000;
const hour = 60 * minute;

/**
 * Milliseconds until the next try: 0.2 s, doubled up to 60 s; 300 s after an hour; after a day 1/288 of the
 * outage so far, which is 300 s then. A try is at most 18 events, so a year of waiting fits into one history.
 * @param round tries before, 0 at first
 */
export function outageDelay(round: number, outageMs: number): number {
  if (outageMs < hour) return Math.min(200 * 2 ** Math.min(round, 20), minute);
  return Math.max(5 * minute, Math.round(outageMs / 288));
}

/** Added to the time that the last try took: an attempt that lasts longer has met a server that is back. */
const settleMs = 5_000;
const maxGraceMs = 15 * minute;
/** A parent is told of outages that last, and not too often: a signal is about 9 events. */
const minReportedMs = 2_000;
const minReportIntervalMs = 20_000;

/**
 * Milliseconds from one report of an outage to the next: a 24th of the outage, so that a comparison whose 16 runs all
 * wait has space for a year of their reports.
 */
export const reportInterval = (outageMs: number): number => Math.max(minReportIntervalMs, outageMs / 24);

/** The outage of one server. */
interface Outage {
  server: string;
  reason: string;
  tries: number;
  sinceMs: number;
  /** How often the work was tried again. */
  round: number;
  retryAfterMs: number;
  graceMs: number;
  /** The call that tries again while all others wait; undefined when the server seems to be back. */
  holder: symbol | undefined;
}

interface Call<Result> {
  call: symbol;
  work: () => Promise<Result>;
  maxSeconds: number;
}

const newOutage = (server: string): Outage => ({
  server,
  reason: '',
  tries: 0,
  sinceMs: Date.now(),
  round: 0,
  retryAfterMs: 0,
  graceMs: settleMs,
  holder: undefined,
});

/** What is shown of a workflow that waits. */
export interface OutageDisplay {
  /** The current phase; of a child that waits, if there is one. */
  phase: (child: OutageReport | undefined) => string;
  /** Called when `current` has changed. */
  onChange: () => void;
}

/** The outages that a workflow has met, and those that its children have told it of. */
export class ModelOutages {
  readonly #byServer = new Map<string, Outage>();
  readonly #ofChildren = new Map<string, OutageReport>();
  #display: OutageDisplay | undefined;
  #parentToldAt: number | undefined;

  /** Shows outages from here on, and listens to children. */
  show(display: OutageDisplay): void {
    this.#display = display;
    setHandler(outageSignal, (workflow, report) => {
      if (report === null) this.#ofChildren.delete(workflow);
      else this.#ofChildren.set(workflow, report);
      this.#publish();
    });
  }

  /** What the workflow waits for, or else a child of it, in its own words. */
  current(): OutageReport | undefined {
    const { workflowId } = workflowInfo();
    const [own] = this.#own();
    if (own !== undefined) return own;
    const [child] = this.#ofChildren.values();
    return child && { ...child, workflow: workflowId, phase: this.#phase(child) };
  }

  /** All that the workflow and its children wait for: a comparison has many. */
  all(): OutageReport[] {
    return [...this.#own(), ...this.#ofChildren.values()];
  }

  #own(): OutageReport[] {
    const { workflowId } = workflowInfo();
    return [...this.#byServer.values()]
      .filter(({ holder }) => holder !== undefined)
      .map((outage) => ({ workflow: workflowId, phase: this.#phase(), outage: toModelOutage(outage) }));
  }

  #phase(child?: OutageReport): string {
    return this.#display?.phase(child) ?? '';
  }

  /** A child that has ended waits for nothing. */
  dropChild(workflow: string): void {
    if (this.#ofChildren.delete(workflow)) this.#publish();
  }

  /**
   * The work's result, however long its model server is away.
   * @param maxSeconds of one outage
   * @throws what the work throws otherwise; ApplicationFailure after an outage of `maxSeconds`
   */
  async untilAnswered<Result>(work: () => Promise<Result>, maxSeconds = Infinity): Promise<Result> {
    const call = Symbol('call');
    let outage: Outage | undefined;
    try {
      for (;;) {
        const startedAt = Date.now();
        try {
          return await (outage === undefined ? work() : this.#tryAgain(outage, { call, work, maxSeconds }));
        } catch (error) {
          const failure = outageOf(error);
          if (failure === undefined) throw error;
          if (outage?.holder === call && outage.server !== failure.details.server) this.#end(outage);
          outage = this.#record(failure.details, Date.now() - startedAt);
          throwIfTooLong(outage, failure.type, maxSeconds);
        }
      }
    } finally {
      if (outage?.holder === call || outage?.holder === undefined) this.#end(outage);
    }
  }

  /**
   * One call at a time waits and tries. The others continue when it has succeeded, or has lasted longer than
   * a try that fails.
   */
  async #tryAgain<Result>(outage: Outage, { call, work, maxSeconds }: Call<Result>): Promise<Result> {
    if (outage.holder !== undefined && outage.holder !== call) {
      await condition(() => outage.holder === undefined);
      return work();
    }
    outage.holder = call;
    this.#publish();
    const outageMs = Date.now() - outage.sinceMs;
    const delay = Math.max(outageDelay(outage.round, outageMs), outage.retryAfterMs);
    await sleep(Math.min(delay, maxSeconds * 1000 - outageMs + 1));
    outage.round += 1;
    const grace = new CancellationScope();
    const released = grace.run(async () => {
      await sleep(outage.graceMs);
      if (outage.holder !== call) return;
      outage.holder = undefined;
      this.#publish();
    });
    released.catch(() => undefined);
    try {
      return await work();
    } finally {
      grace.cancel();
    }
  }

  /** Counts a try that failed. Work that was done before it means that the server had answered meanwhile. */
  #record({ server, reason, progressed, retryAfterMs = 0 }: OutageDetails, triedMs: number): Outage {
    const outage = this.#byServer.get(server) ?? newOutage(server);
    this.#byServer.set(server, outage);
    if (progressed) Object.assign(outage, { tries: 0, round: 0, sinceMs: Date.now() });
    outage.reason = reason;
    outage.tries += 1;
    outage.retryAfterMs = Math.min(retryAfterMs, 5 * minute);
    outage.graceMs = progressed ? settleMs : Math.min(triedMs + settleMs, maxGraceMs);
    return outage;
  }

  #end(outage: Outage | undefined): void {
    if (outage === undefined) return;
    outage.holder = undefined;
    if (this.#byServer.get(outage.server) === outage) this.#byServer.delete(outage.server);
    this.#publish();
  }

  #publish(): void {
    this.#display?.onChange();
    this.#tellParent();
  }

  #tellParent(): void {
    const { parent, workflowId } = workflowInfo();
    if (parent === undefined) return;
    const report = this.current();
    const now = Date.now();
    if (report === undefined) {
      if (this.#parentToldAt === undefined) return;
      this.#parentToldAt = undefined;
    } else {
      const outageMs = now - Date.parse(report.outage.since);
      const sinceToldMs = now - (this.#parentToldAt ?? 0);
      if (outageMs < minReportedMs || sinceToldMs < minReportIntervalMs) return;
      if (sinceToldMs < reportInterval(outageMs) && patched('rarer-outage-reports')) return;
      this.#parentToldAt = now;
    }
    getExternalWorkflowHandle(parent.workflowId)
      .signal(outageSignal, workflowId, report ?? null)
      // A parent that has ended, or a cancellation, needs to know nothing.
      .catch(() => undefined);
  }
}

/** Of this workflow: each has an instance of this module. */
export const modelOutages = new ModelOutages();

const toModelOutage = ({ server, reason, tries, sinceMs }: Outage): ModelOutage => ({
  server,
  reason,
  tries,
  since: new Date(sinceMs).toISOString(),
});

function throwIfTooLong({ server, reason, tries, sinceMs }: Outage, type: string, maxSeconds: number): void {
  if (Date.now() - sinceMs <= maxSeconds * 1000) return;
  throw ApplicationFailure.nonRetryable(
    `${server} has been away for more than ${maxSeconds} s (maxOutageSeconds), ${tries} tries: ${reason}; ` +
      'once it answers, start the same id again',
    type,
  );
}
