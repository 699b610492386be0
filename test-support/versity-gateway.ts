import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { engineFolder, onPath } from '../infra/setup/locations.mjs';
import { Bucket } from '../src/store/bucket.ts';
import { freePort } from './free-port.ts';
import { TestProcess, until } from './processes.ts';

/** The executable of the engine, else on the PATH; null if there is none. */
export function versityGatewayPath(): string | null {
  const path = join(engineFolder('versitygw'), 'bin', 'versitygw');
  return existsSync(path) ? path : onPath('versitygw');
}

const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret' };
const startMs = 120_000;

/** A real S3 server whose bucket `runs` is a folder; a test may kill it. */
export class VersityGateway implements AsyncDisposable {
  readonly endpoint: string;
  /** With which workers and commands reach it. */
  readonly environment: NodeJS.ProcessEnv = {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
  readonly #folder: string;
  #process: TestProcess;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.endpoint = `http://127.0.0.1:${port}`;
    this.#process = this.#launch();
  }

  /** @param folder of its own, on a file system with extended attributes */
  static async start(folder: string): Promise<VersityGateway> {
    await mkdir(join(folder, 'data', 'runs'), { recursive: true });
    const gateway = new VersityGateway(folder, await freePort());
    await gateway.#answers();
    return gateway;
  }

  bucket(prefix = ''): Bucket {
    return new Bucket({ bucket: 'runs', prefix, endpoint: this.endpoint }, { credentials });
  }

  /** What `store.json` says of it. */
  settings(prefix: string): object {
    return { type: 's3', bucket: 'runs', prefix, endpoint: this.endpoint };
  }

  /** Kills it where it is; the folder stays. */
  kill(): Promise<void> {
    return this.#process.stop('SIGKILL');
  }

  async restart(): Promise<void> {
    this.#process = this.#launch();
    await this.#answers();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process.stop('SIGKILL');
  }

  #launch(): TestProcess {
    const address = new URL(this.endpoint).host;
    return new TestProcess(versityGatewayPath()!, ['--port', address, 'posix', join(this.#folder, 'data')], {
      env: {
        ...process.env,
        ROOT_ACCESS_KEY: credentials.accessKeyId,
        ROOT_SECRET_KEY: credentials.secretAccessKey,
      },
      cwd: this.#folder,
      log: join(this.#folder, 'gateway.log'),
    });
  }

  async #answers(): Promise<void> {
    const isUp = async (): Promise<boolean> => {
      this.#process.expectAlive('the gateway answered');
      return fetch(this.endpoint).then(
        () => true,
        () => false,
      );
    };
    await until(isUp, startMs, 'the gateway');
  }
}
