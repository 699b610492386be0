import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Python } from '../processes/python.ts';
import { SidecarFailed } from './suite.ts';

export interface SidecarOptions {
  /** Names the sidecar in errors. */
  name: string;
  /** Path of its Python. */
  python: string;
  arguments: readonly string[];
  /** Its process gets nothing else of the environment. */
  variables: Readonly<Record<string, string>>;
  folder: string;
}

type PendingRequest = { resolve: (value: unknown) => void; reject: (error: Error) => void };

/**
 * An engine in a process of its own, asked over its standard input and output: a line of JSON for a request
 * (`{id, ...}`), one for its answer (`{id, result}` or `{id, error}`). Requests may be concurrent; standard
 * error is kept for error messages.
 */
export class Sidecar implements AsyncDisposable {
  readonly #name: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, PendingRequest>();
  readonly #ended: Promise<void>;
  #failure: SidecarFailed | undefined;
  #lastWords = '';
  #next = 0;

  constructor({ name, python, arguments: args, variables, folder }: SidecarOptions) {
    this.#name = name;
    this.#process = new Python(python, {}).spawn(args, {
      variables,
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe'],
    }) as ChildProcessByStdio<Writable, Readable, Readable>;
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-4000);
    });
    // Writing to a process that has just ended fails; its end is reported instead.
    this.#process.stdin.on('error', () => undefined);
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#answered(line));
    this.#ended = new Promise((resolve) => {
      this.#process.on('error', (error) => {
        this.#fail(`cannot be started: ${error.message}`);
        resolve();
      });
      this.#process.on('close', (code, killedBy) => {
        this.#fail(`ended (${killedBy ?? `exit code ${code}`})`);
        resolve();
      });
    });
  }

  /** @throws SidecarFailed, or the signal's reason if it aborts */
  async ask<Result>(request: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure;
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const abort = (): void => reject(signal!.reason as Error);
    this.#waiting.set(id, { resolve, reject });
    signal?.addEventListener('abort', abort, { once: true });
    this.#process.stdin.write(`${JSON.stringify({ ...request, id })}\n`);
    try {
      return (await promise) as Result;
    } finally {
      this.#waiting.delete(id);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Ends the process and waits for its exit. */
  async close(): Promise<void> {
    this.#process.stdin.end();
    const killed = setTimeout(() => this.#process.kill('SIGKILL'), 2000);
    await this.#ended;
    clearTimeout(killed);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #answered(line: string): void {
    let answer: { id?: unknown; result?: unknown; error?: unknown };
    try {
      answer = JSON.parse(line) as typeof answer;
    } catch {
      this.#fail(`wrote what is no answer: ${line.slice(0, 200)}`);
      this.#process.kill('SIGKILL');
      return;
    }
    const waiting = this.#waiting.get(answer.id as number);
    if ('error' in answer) waiting?.reject(new SidecarFailed(`${this.#name}: ${String(answer.error)}`));
    else waiting?.resolve(answer.result);
  }

  #fail(what: string): void {
    this.#failure ??= new SidecarFailed(
      `the sidecar ${this.#name} ${what}${this.#lastWords === '' ? '' : `; it last said: ${this.#lastWords.trim()}`}`,
    );
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}
