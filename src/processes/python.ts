/**
 * The one place that starts Python: no code comes from the folder that a process is started in, and no key of this
 * process's environment goes with it.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { promisify } from 'node:util';
import { childEnvironment } from './child-environment.ts';

type Variables = Readonly<Record<string, string>>;

/** A process to be started: all of its environment variables are in `env`. */
export interface PythonStart {
  command: string;
  args: string[];
  env: Record<string, string>;
}

export interface PythonScript {
  variables?: Variables;
  /** Its standard input; none if left out. */
  input?: string;
  timeoutMs?: number;
}

const MAX_OUTPUT_BYTES = 10_000_000;

/** A Python interpreter, and what its processes get of this one's environment. */
export class Python {
  readonly path: string;
  readonly #environment: Variables;

  /** @param environment of which the allow-list is passed on; `{}` for processes that get nothing of it */
  constructor(path: string, environment: NodeJS.ProcessEnv) {
    this.path = path;
    this.#environment = childEnvironment(environment);
  }

  /**
   * How a process is started.
   * @param variables that it gets besides
   * @param defaults for variables that the environment leaves out
   */
  start(args: readonly string[], variables: Variables = {}, defaults: Variables = {}): PythonStart {
    // With `-c` and `-m` Python would look for modules in the working directory first.
    const env = { ...defaults, ...this.#environment, ...variables, PYTHONSAFEPATH: '1' };
    return { command: this.path, args: [...args], env };
  }

  /** A process that runs on. */
  spawn(
    args: readonly string[],
    { variables, ...options }: Omit<SpawnOptions, 'env' | 'shell'> & { variables?: Variables },
  ): ChildProcess {
    const start = this.start(args, variables);
    return spawn(start.command, start.args, { ...options, env: start.env });
  }

  /** Runs a process to its end. @returns what it printed. @throws Error with its `stderr` if it fails */
  async run(
    args: readonly string[],
    { variables, input, timeoutMs = 0 }: PythonScript = {},
  ): Promise<string> {
    const start = this.start(args, variables);
    const options = { env: start.env, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES };
    const running = promisify(execFile)(start.command, start.args, options);
    // A process that has ended reads no more of it; its end is what is reported.
    running.child.stdin?.on('error', () => undefined).end(input);
    return (await running).stdout;
  }
}
