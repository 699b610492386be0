import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { trackerPython } from '../../src/tracking/trackers.ts';
import { freePort } from '../../test-support/free-port.ts';
import { until } from '../../test-support/processes.ts';

/** MLflow's own server on SQLite, which can be stopped and started again. */
export class MlflowServer {
  readonly #folder: string;
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  static async start(folder: string): Promise<MlflowServer> {
    const server = new MlflowServer(folder, await freePort());
    await server.start();
    return server;
  }

  get uri(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const args = [
      ...['-m', 'mlflow', 'server', '--host', '127.0.0.1', '--port', String(this.#port), '--workers', '1'],
      ...['--backend-store-uri', `sqlite:///${join(this.#folder, 'mlflow.db')}`],
      ...['--artifacts-destination', join(this.#folder, 'artifacts')],
    ];
    this.#process = spawn(trackerPython('mlflow'), args, {
      cwd: this.#folder,
      env: {
        ...process.env,
        MLFLOW_DISABLE_TELEMETRY: 'true',
        MLFLOW_SERVER_ENABLE_JOB_EXECUTION: 'false',
      },
      detached: true,
      stdio: 'ignore',
    });
    const answers = async (): Promise<boolean> =>
      (await fetch(`${this.uri}/health`).catch(() => undefined))?.ok === true;
    await until(answers, 120_000, 'MLflow’s server');
  }

  /** As when its machine is lost. */
  async kill(): Promise<void> {
    const server = this.#process;
    this.#process = undefined;
    if (server?.pid === undefined) return;
    const ended = once(server, 'exit');
    process.kill(-server.pid, 'SIGKILL');
    await ended;
  }
}
