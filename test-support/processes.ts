import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, createWriteStream, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';

/** A real process of a test: its own group, its output kept, ended by the test that started it. */
export class TestProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  readonly #output: () => string;

  /** @param options.writesLog whether it writes its log itself, as under `genenv up` */
  constructor(
    command: string,
    args: readonly string[],
    {
      log,
      writesLog = false,
      ...options
    }: { env: NodeJS.ProcessEnv; cwd: string; log: string; writesLog?: boolean },
  ) {
    const file = writesLog ? openSync(log, 'a') : undefined;
    const earlier = file === undefined ? 0 : fstatSync(file).size;
    const stdio = file ?? 'pipe';
    this.child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', stdio, stdio] });
    if (file !== undefined) closeSync(file);
    this.#output = writesLog ? () => readFileSync(log).subarray(earlier).toString() : this.#keepOutput(log);
    this.exited = new Promise((resolve) => this.child.once('exit', (code) => resolve(code)));
  }

  /** What it has printed. */
  get output(): string {
    return this.#output();
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  async says(text: string, timeoutMs = 90_000): Promise<void> {
    await until(
      () => {
        this.expectAlive(`it said ${JSON.stringify(text)}`);
        return this.output.includes(text);
      },
      timeoutMs,
      `output ${JSON.stringify(text)}`,
    );
  }

  /** @throws Error with the end of what it printed, if it has ended before `what` came to pass */
  expectAlive(what: string): void {
    if (!this.alive) throw new Error(`process ended before ${what}:\n${this.output.slice(-3000)}`);
  }

  #keepOutput(file: string): () => string {
    let output = '';
    const log = createWriteStream(file, { flags: 'a' });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.on('data', (part: Buffer) => {
        output += part.toString();
        log.write(part);
      });
    }
    return () => output;
  }

  /** Signals this process alone: what it started lives on, as after a crash. */
  signal(signal: NodeJS.Signals): void {
    if (this.alive) this.child.kill(signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM', graceMs = 20_000): Promise<void> {
    this.signal(signal);
    const late = setTimeout(() => this.signal('SIGKILL'), graceMs);
    if (this.alive) await this.exited;
    clearTimeout(late);
  }
}

/** Ids of the processes of this host whose folder of /proc passes a test. If a process ends meanwhile, it does not. */
export const processesWith = (test: (folder: string) => boolean): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && succeeds(() => test(`/proc/${name}`)))
    .map(Number);

function succeeds(test: () => boolean): boolean {
  try {
    return test();
  } catch {
    return false;
  }
}

export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
