import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../runtime/process-identity.ts';
import type { HangWatch } from './hang-watch.ts';
import { endProcess, lastLogLines, launchProcess, signalGroup } from './processes.ts';
import type { Launch, Launched } from './processes.ts';
import type { RecordedProcess, ServiceName } from './record.ts';

const POLL_MS = 100;
const ADOPT_SECONDS = 5;
const MAX_STARTS = 5;
/** Seconds between two lines about a service that takes long to start. */
const NOTE_SECONDS = 30;
const BACKOFF_MS = 150;
/** A process that lived for a shorter time has failed to start, even if it answered. */
const STEADY_SECONDS = 20;
const HANG = 'hung (it said that it was stuck, and used no processor) and was ended';

export interface Supervision {
  cwd: string;
  logs: string;
  /** The process that an earlier stack recorded for this service. */
  recorded: RecordedProcess | undefined;
  record: (process: RecordedProcess | null) => void;
  say: (line: string) => void;
  /** Called when the process kept ending and is no longer restarted. */
  onGivenUp: (error: Error) => void;
}

/** Keeps one process of the stack running: adopts or starts it, restarts it when it ends, and ends it. */
export class SupervisedService {
  readonly #service: Service;
  readonly #supervision: Supervision;
  #process: RecordedProcess | null = null;
  #launched: Launched | null = null;
  #stopping = false;
  #work: Promise<unknown> = Promise.resolve();

  constructor(service: Service, supervision: Supervision) {
    this.#service = service;
    this.#supervision = supervision;
  }

  /** Resolves when it answers. */
  async start(): Promise<'adopted' | 'started'> {
    const starting = this.#adoptOrStart();
    this.#work = starting.catch(() => undefined);
    const outcome = await starting;
    if (!this.#isStopping()) void this.#watch();
    return outcome;
  }

  async stop(hurry?: AbortSignal): Promise<void> {
    this.#stopping = true;
    await this.#work;
    await this.#end(hurry);
  }

  async #adoptOrStart(): Promise<'adopted' | 'started'> {
    const { recorded, say } = this.#supervision;
    if (recorded !== undefined && isAlive(recorded)) {
      this.#process = recorded;
      if (
        recorded.fingerprint === this.#service.fingerprint() &&
        (await this.#answers(recorded, ADOPT_SECONDS))
      ) {
        await this.#service.prepare?.();
        return 'adopted';
      }
      say(`${this.#service.title}: ending the one that an earlier stack left (process ${recorded.pid})`);
      await this.#end();
    } else if (recorded !== undefined) {
      // What it started may outlive it.
      await endProcess(recorded, { graceSeconds: this.#service.graceSeconds });
    }
    await this.#startUntilReady();
    return 'started';
  }

  async #startUntilReady(): Promise<void> {
    const { title, readySeconds, maxStarts = MAX_STARTS, slowStart } = this.#service;
    if (slowStart !== undefined) this.#supervision.say(`${title}: ${slowStart} (log: ${this.#log}) ...`);
    let reason = '';
    for (let attempt = 0; attempt < maxStarts; attempt++) {
      if (attempt > 0) await sleep(BACKOFF_MS * 2 ** attempt);
      if (this.#stopping) throw new Error(`${title}: stopped while it started`);
      const process = await this.#launch();
      if (await this.#answers(process, readySeconds)) {
        await this.#service.prepare?.();
        return;
      }
      reason = isAlive(process)
        ? `gave no answer within ${readySeconds} s`
        : ((await this.#launched?.ending()) ?? 'ended');
      await this.#end();
    }
    throw new Error(
      `${title}: started ${maxStarts} times, and each time it ${reason}. ` +
        `The end of ${this.#log}:\n${lastLogLines(this.#log)}`,
    );
  }

  async #launch(): Promise<RecordedProcess> {
    const { cwd, record } = this.#supervision;
    this.#launched = await launchProcess(await this.#service.launch(), { cwd, log: this.#log });
    this.#process = { ...this.#launched.identity, fingerprint: this.#service.fingerprint() };
    record(this.#process);
    return this.#process;
  }

  /** False when the process ended, did not answer in time, or is no longer wanted. */
  async #answers(process: RecordedProcess, seconds: number): Promise<boolean> {
    const { title, slowStart } = this.#service;
    const startedAt = performance.now();
    const elapsed = (): number => (performance.now() - startedAt) / 1000;
    let noted = 0;
    while (isAlive(process) && elapsed() < seconds && !this.#stopping) {
      if (await this.#service.answers().catch(() => false)) return isAlive(process);
      if (slowStart !== undefined && elapsed() > noted + NOTE_SECONDS) {
        noted += NOTE_SECONDS;
        this.#supervision.say(`${title}: not ready yet after ${noted} s`);
      }
      await sleep(POLL_MS);
    }
    return false;
  }

  async #watch(): Promise<void> {
    const { say, onGivenUp } = this.#supervision;
    let failures = 0;
    let startedAt = performance.now();
    while (this.#process !== null) {
      const process = this.#process;
      const hung = await this.#untilEnded(process);
      if (this.#isStopping()) return;
      failures = performance.now() - startedAt < STEADY_SECONDS * 1000 ? failures + 1 : 1;
      const ending = hung ? HANG : ((await this.#launched?.ending()) ?? 'ended');
      if (this.#isStopping()) return;
      // What it started may outlive it, with its memory.
      signalGroup(process, 'SIGKILL');
      say(`${this.#service.title} ${ending}; starting it again (log: ${this.#log})`);
      try {
        if (failures > MAX_STARTS)
          throw new Error(
            `${this.#service.title}: it ended ${failures} times within ${STEADY_SECONDS} s of its start. ` +
              `The end of ${this.#log}:\n${lastLogLines(this.#log)}`,
          );
        if (failures > 1) await sleep(BACKOFF_MS * 2 ** failures);
        const restart = this.#startUntilReady();
        this.#work = restart.catch(() => undefined);
        const beganAt = performance.now();
        await restart;
        startedAt = performance.now();
        say(`${this.#service.title}: ready again after ${((startedAt - beganAt) / 1000).toFixed(1)} s`);
      } catch (error) {
        if (!this.#isStopping()) onGivenUp(error as Error);
        return;
      }
    }
  }

  /** Waits until the process has ended; one that hangs is ended. @returns whether it hung */
  async #untilEnded(process: RecordedProcess): Promise<boolean> {
    const { hangWatch } = this.#service;
    hangWatch?.reset();
    while (!this.#stopping && isAlive(process)) {
      await sleep(POLL_MS);
      if ((await hangWatch?.look(process.pid)) !== true || this.#isStopping()) continue;
      this.#work = this.#end().catch(() => undefined);
      await this.#work;
      return true;
    }
    return false;
  }

  /** A method, because the compiler does not expect the field to change during an await. */
  #isStopping(): boolean {
    return this.#stopping;
  }

  async #end(hurry?: AbortSignal): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    const outcome = await endProcess(process, {
      graceSeconds: this.#service.graceSeconds,
      ...(hurry ? { hurry } : {}),
    });
    if (outcome === 'killed' && hurry?.aborted !== true)
      this.#supervision.say(
        `${this.#service.title} did not end within ${this.#service.graceSeconds} s and was killed`,
      );
    this.#process = null;
    this.#supervision.record(null);
  }

  get #log(): string {
    return join(this.#supervision.logs, `${this.#service.name}.log`);
  }
}

/** One process of the stack: how it is launched, when it is ready, how long it may take to end. */
export interface Service {
  name: ServiceName;
  /** The name shown to people. */
  title: string;
  fingerprint(): string;
  /** Called before every start; a restart uses the same port, since other services know it. */
  launch(): Promise<Launch> | Launch;
  /** Whether it answers now; false or a rejection if it does not. */
  answers(): Promise<boolean>;
  /** Called once it answers, whether it was started or adopted. */
  prepare?(): Promise<void>;
  /** Of a service that can live and answer, and yet do nothing any more. */
  hangWatch?: HangWatch;
  /** Ports in use, which the next stack of this home reuses. */
  ports?(): Record<string, number>;
  readySeconds: number;
  graceSeconds: number;
  /** How often it is started before it is given up; 5 if left out. */
  maxStarts?: number;
  /** What is said while one waits, of a service that takes long to start. */
  slowStart?: string;
}
