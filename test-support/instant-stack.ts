import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { repository } from '../infra/setup/locations.mjs';
import { RunFolder } from '../src/runs/run-folder.ts';
import { createDataConverter } from '../src/temporal/data-converter.ts';
import { readPayloadKeys } from '../src/temporal/payload-keys.ts';
import type { WorldSettings } from '../src/worlds/settings.ts';
import type { FakeChat } from './fake-chat.ts';
import { FakeModelServer } from './fake-model-server.ts';
import { fakeToolboxModel } from './fake-toolbox-model.ts';
import { FakeTrainer } from './fake-trainer.ts';
import { freePort } from './free-port.ts';
import { TestProcess, until } from './processes.ts';
import { loopbackEndpoints } from './permitted-servers.ts';
import { temporalOnDisk } from './temporal/temporal-on-disk.ts';
import type { TemporalOnDisk } from './temporal/temporal-on-disk.ts';

/** A worker compiles the workflows first, which may take minutes on a machine that is busy. */
const startMs = 300_000;

interface Parts {
  address: string;
  connection: Connection;
  database: TemporalOnDisk;
  models: FakeModelServer;
  trainer: Server;
  environment: NodeJS.ProcessEnv;
  startWorker: (queues?: string, environment?: NodeJS.ProcessEnv) => TestProcess;
}

/**
 * A real Temporal server (temporal/temporal-on-disk.ts says which) and a real worker, each a process, with a
 * model server and a trainer in this one that cost nothing: what is left is the cost of orchestration and
 * store. `await using` ends them and removes the folder, which lies in memory where there is one.
 */
export class InstantStack implements AsyncDisposable {
  readonly home: string;
  readonly client: Client;
  worker: TestProcess;
  temporal: TestProcess;
  /** Temporal’s. */
  readonly address: string;
  readonly #parts: Parts;

  private constructor(home: string, temporal: TestProcess, parts: Parts) {
    this.home = home;
    this.temporal = temporal;
    this.worker = parts.startWorker();
    this.address = parts.address;
    this.#parts = parts;
    this.client = new Client({
      connection: parts.connection,
      dataConverter: createDataConverter(readPayloadKeys(parts.environment)),
    });
  }

  /**
   * @param chat what answers chat completions
   * @param home an earlier stack’s, whose server is lost: this one is empty
   * @param environment what the worker gets besides, such as payload keys, which the client has too
   * @param restore called before the servers start, to fill the home and the database from a backup
   */
  static async start(
    world: WorldSettings,
    {
      chat,
      home = newHome(),
      environment = {},
      restore,
    }: {
      chat?: FakeChat;
      home?: string;
      environment?: NodeJS.ProcessEnv;
      restore?: (home: string, database: TemporalOnDisk) => Promise<void>;
    } = {},
  ): Promise<InstantStack> {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const database = await temporalOnDisk(home, port, { mayForget: true });
    await restore?.(home, database);
    const temporal = database.launch([]);
    const models = await FakeModelServer.start({
      model: fakeToolboxModel(world),
      keepRequests: false,
      seedRule: 'embedded',
      ...(chat && { chat }),
    });
    const socket = join(home, 'trainer.sock');
    const trainer = await serveTrainer(socket);
    const connection = await connect(address);
    const env = {
      ...process.env,
      GENENV_HOME: home,
      TEMPORAL_ADDRESS: address,
      GENENV_POLICY_SERVER: models.url,
      GENENV_ENDPOINTS: loopbackEndpoints,
      GENENV_TRAINER_SOCKET: socket,
      ...environment,
    };
    const startWorker = (served?: string, changes: NodeJS.ProcessEnv = {}): TestProcess =>
      new TestProcess(
        process.execPath,
        [join(repository, 'src/worker.ts'), ...(served === undefined ? [] : ['--queues', served])],
        { env: { ...env, ...changes }, cwd: repository, log: join(home, 'worker.log') },
      );
    const stack = new InstantStack(home, temporal, {
      address,
      connection,
      database,
      models,
      trainer,
      environment: env,
      startWorker,
    });
    await stack.worker.says('worker ready', startMs);
    return stack;
  }

  get models(): FakeModelServer {
    return this.#parts.models;
  }

  /** The data of its Temporal server. */
  get database(): TemporalOnDisk {
    return this.#parts.database;
  }

  /** Starts the Temporal server again, on its data. */
  async restartTemporal(): Promise<void> {
    this.temporal = this.database.launch([]);
    await (await connect(this.address)).close();
  }

  run(id: string): RunFolder {
    return new RunFolder(join(this.home, 'runs'), id);
  }

  /** Another worker, beside the first; the caller ends it. */
  async addWorker(environment: NodeJS.ProcessEnv): Promise<TestProcess> {
    const worker = this.#parts.startWorker(undefined, environment);
    await worker.says('worker ready', startMs);
    return worker;
  }

  /** Kills the worker where it is, and starts another. @param served its queues, by default all */
  async killWorker(served?: string): Promise<void> {
    await this.worker.stop('SIGKILL');
    this.worker = this.#parts.startWorker(served);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Ends all of it but the folder. */
  async stop(): Promise<void> {
    const { connection, database, models, trainer } = this.#parts;
    await this.worker.stop('SIGTERM', 10_000);
    await connection.close();
    await this.temporal.stop('SIGTERM', 5_000);
    await database.dispose();
    await models[Symbol.asyncDispose]();
    await new Promise((resolve) => trainer.close(resolve));
  }
}

const newHome = (): string =>
  mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'genenv-instant-'));

/** The fake trainer behind the socket of the resident one. */
function serveTrainer(socket: string): Promise<Server> {
  const trainer = new FakeTrainer({ keepJobs: false });
  const server = createServer((connection) => {
    // A worker that is killed resets its connection.
    connection.on('error', () => connection.destroy());
    connection.setEncoding('utf8').once('data', (line: string) => {
      const { folder } = JSON.parse(line) as { folder: string };
      trainer.submit({ key: 'a'.repeat(64), fence: 1, folder }).then(
        () => connection.end(`${JSON.stringify({ pid: process.pid })}\n`),
        (error: unknown) => connection.end(`${JSON.stringify({ error: String(error) })}\n`),
      );
    });
  });
  return new Promise((resolve, reject) => server.once('error', reject).listen(socket, () => resolve(server)));
}

async function connect(address: string): Promise<Connection> {
  let connection: Connection | undefined;
  await until(
    async () => {
      try {
        connection ??= await Connection.connect({ address });
        await connection.workflowService.describeNamespace({ namespace: 'default' });
        return true;
      } catch {
        return false;
      }
    },
    startMs,
    'Temporal',
  );
  return connection!;
}
