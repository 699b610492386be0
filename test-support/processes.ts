import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A real process of a test: its own group, its output kept, ended by the test that started it. */
export class TestProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  output = '';
  readonly exited: Promise<number | null>;

  constructor(
    command: string,
    args: readonly string[],
    options: { env: NodeJS.ProcessEnv; cwd: string; log: string },
  ) {
    this.child = spawn(command, args, {
      env: options.env,
      cwd: options.cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(options.log, { flags: 'a' });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.on('data', (part: Buffer) => {
        this.output += part.toString();
        log.write(part);
      });
    }
    this.exited = new Promise((resolve) => this.child.once('exit', (code) => resolve(code)));
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  async says(text: string, timeoutMs = 90_000): Promise<void> {
    await until(
      () => {
        if (!this.alive)
          throw new Error(
            `process ended before it said ${JSON.stringify(text)}:\n${this.output.slice(-3000)}`,
          );
        return this.output.includes(text);
      },
      timeoutMs,
      `output ${JSON.stringify(text)}`,
    );
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

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
