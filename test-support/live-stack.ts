import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { pythonPath, repository, temporalPath } from '../infra/setup/locations.mjs';
import type { LedgerEntry } from '../src/runs/ledger-entry.ts';
import { RunFolder } from '../src/runs/run-folder.ts';
import { createDataConverter } from '../src/temporal/data-converter.ts';
import { readPayloadKeys } from '../src/temporal/payload-keys.ts';
import { repeatRequests } from '../src/temporal/request-retries.ts';
import { queues } from '../src/workflows/activity-proxies.ts';
import type { experimentWorkflow as experiment } from '../src/workflows/experiment.ts';
import { freePort } from './free-port.ts';
import { TestProcess, until } from './processes.ts';
import { loopbackEndpoints } from './permitted-servers.ts';
import { servesWorkflows } from './temporal/serves-workflows.ts';
import { temporalOnDisk } from './temporal/temporal-on-disk.ts';
import type { TemporalOnDisk } from './temporal/temporal-on-disk.ts';

/**
 * Importing torch alone may take minutes on a machine that is busy. Less than the longest hooks of suites
 * have, whose failure would not say what they waited for.
 */
const startMs = 450_000;

/** With the folder that a policy server looks into. */
function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'genenv-live-'));
  mkdirSync(join(home, 'store', 'served'), { recursive: true });
  return home;
}

/** What suites that disturb no server have in common: `LiveStack.shared()`. */
export interface SharedServices {
  home: string;
  temporalPort: number;
  policyPort: number;
}

export interface WorkerOptions {
  /** `kill:<activity>:<epoch>:<when>` and the like: test-support/faulty-worker.ts. */
  fault?: string;
  queues?: string;
  environment?: NodeJS.ProcessEnv;
}

/**
 * The real parts of a run, each a process that a test may kill: a Temporal server (temporal/temporal-on-disk.ts
 * says which), policy server, resident trainer, workers. `await using` ends them all and removes the folder.
 */
export class LiveStack implements AsyncDisposable {
  readonly home: string;
  /** What a worker of this stack is started with. */
  readonly environment: NodeJS.ProcessEnv;
  readonly services: SharedServices;
  readonly namespace: string;
  readonly workers: TestProcess[] = [];
  /** The processes of its own; a stack on shared services has none. */
  temporal!: TestProcess;
  /** The data of that server. */
  database!: TemporalOnDisk;
  policy!: TestProcess;
  trainer!: TestProcess;
  client!: Client;
  /**
   * If it is set, processes that are started write their logs in this folder themselves, as under `genenv up`;
   * else the test keeps what they print.
   */
  logs: string | undefined;
  #connection: Connection | undefined;
  /** False for a host beside another stack, whose Temporal server it uses. */
  #ownsTemporal = true;

  private constructor(
    home: string,
    services: SharedServices,
    { namespace = 'default', environment = {} }: { namespace?: string; environment?: NodeJS.ProcessEnv },
  ) {
    this.home = home;
    this.services = services;
    this.namespace = namespace;
    this.environment = {
      ...process.env,
      GENENV_HOME: home,
      TEMPORAL_ADDRESS: this.address,
      TEMPORAL_NAMESPACE: namespace,
      GENENV_POLICY_SERVER: this.policyUrl,
      GENENV_ENDPOINTS: loopbackEndpoints,
      GENENV_TRAINER_SOCKET: this.trainerSocket,
      PYTHONPATH: join(repository, 'trainer'),
      ...environment,
    };
  }

  /**
   * Starts servers of its own, which a test may kill.
   * @param environment what its workers and its client get besides, such as payload keys
   */
  static async start(environment: NodeJS.ProcessEnv = {}): Promise<LiveStack> {
    const home = newHome();
    const services = { home, temporalPort: await freePort(), policyPort: await freePort() };
    const stack = new LiveStack(home, services, { environment });
    stack.database = await temporalOnDisk(home, services.temporalPort);
    stack.startTemporal();
    stack.startPolicyServer();
    stack.startTrainer();
    await stack.connect();
    return stack;
  }

  /**
   * Another host: a disk, a policy server and a trainer of its own, and the Temporal server of this stack.
   * @param environment what its workers get besides, such as credentials of a bucket
   */
  async addHost(environment: NodeJS.ProcessEnv = {}): Promise<LiveStack> {
    const home = newHome();
    const services = { home, temporalPort: this.services.temporalPort, policyPort: await freePort() };
    const host = new LiveStack(home, services, { namespace: this.namespace, environment });
    host.#ownsTemporal = false;
    host.temporal = this.temporal;
    host.startPolicyServer();
    host.startTrainer();
    await host.connect();
    return host;
  }

  /**
   * A stack on the servers and the store that suites share (vitest only), with a Temporal namespace, runs and
   * workers of its own. Ids of experiments must differ between the suites that use it.
   */
  static async shared(): Promise<LiveStack> {
    const { inject } = await import('vitest');
    return LiveStack.on((await (await fetch(inject('sharedServices'))).json()) as SharedServices);
  }

  /**
   * A stack on the servers and the store of another one.
   * @param environment what its workers and its client get besides
   */
  static async on(services: SharedServices, environment: NodeJS.ProcessEnv = {}): Promise<LiveStack> {
    const home = mkdtempSync(join(tmpdir(), 'genenv-live-'));
    symlinkSync(join(services.home, 'store'), join(home, 'store'));
    const stack = new LiveStack(home, services, { namespace: `suite-${basename(home)}`, environment });
    await stack.connect();
    await stack.#registerNamespace();
    return stack;
  }

  /** Whether it uses the servers that suites share. */
  get isShared(): boolean {
    return this.services.home !== this.home;
  }

  get address(): string {
    return `127.0.0.1:${this.services.temporalPort}`;
  }

  get policyUrl(): string {
    return `http://127.0.0.1:${this.services.policyPort}/v1`;
  }

  get trainerSocket(): string {
    return join(this.services.home, 'trainer.sock');
  }

  /**
   * Starts an experiment, from what its file says. @returns a handle by its id alone, which holds after a
   * reset too
   */
  async startRun(id: string, file: unknown): Promise<WorkflowHandle<typeof experiment>> {
    await this.client.workflow.start<typeof experiment>('experiment', {
      args: [file],
      workflowId: id,
      taskQueue: queues.workflows,
    });
    return this.client.workflow.getHandle<typeof experiment>(id);
  }

  run(id: string): RunFolder {
    return new RunFolder(join(this.home, 'runs'), id);
  }

  /** A run's ledger as it stands on disk: the hashes of all that the run made. */
  ledger(id: string): string {
    return readFileSync(this.run(id).ledgerFile, 'utf8');
  }

  entries(id: string): LedgerEntry[] {
    return this.ledger(id)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as LedgerEntry);
  }

  /**
   * Waits until the policy server and the trainer answer; a worker waits by itself.
   * @throws Error with what one of them printed, if it is this stack's own and ends instead
   */
  async policyReady(): Promise<void> {
    const health = this.policyUrl.replace('/v1', '/health');
    await until(
      () => {
        if (!this.isShared) this.policy.expectAlive('the policy server answered');
        return fetch(health).then(
          (response) => response.ok,
          () => false,
        );
      },
      startMs,
      'the policy server',
    );
    await until(
      () => {
        if (!this.isShared) this.trainer.expectAlive('the trainer answered');
        return existsSync(this.trainerSocket);
      },
      startMs,
      'the trainer',
    );
  }

  /** `settings`: dynamic configuration, `name=value`. */
  startTemporal(...settings: string[]): void {
    this.temporal = this.database.launch(settings);
  }

  startPolicyServer(): void {
    this.policy = this.#process('policy', pythonPath(), [
      '-m',
      'genenv_trainer',
      'serve',
      '--store',
      join(this.home, 'store'),
      '--port',
      String(this.services.policyPort),
      '--threads',
      '1',
    ]);
  }

  startTrainer(environment: NodeJS.ProcessEnv = {}): void {
    this.trainer = this.#process(
      'trainer',
      pythonPath(),
      ['-m', 'genenv_trainer', 'resident', '--socket', this.trainerSocket],
      environment,
    );
  }

  /** Starts a worker and waits until it polls. */
  async startWorker(options: WorkerOptions = {}): Promise<TestProcess> {
    const worker = this.launchWorker(options);
    await worker.says('worker ready', startMs);
    return worker;
  }

  /** Starts a worker, whether or not there is a server for it. */
  launchWorker({ fault, queues, environment = {} }: WorkerOptions = {}): TestProcess {
    const args = [
      join(repository, 'test-support/faulty-worker.ts'),
      ...(queues === undefined ? [] : ['--queues', queues]),
    ];
    const worker = this.#process('worker', process.execPath, args, {
      ...(fault === undefined ? {} : { GENENV_TEST_FAULT: fault }),
      ...environment,
    });
    this.workers.push(worker);
    return worker;
  }

  /** @throws Error with what Temporal printed, if it is this stack's own and ends before it answers */
  async connect(): Promise<void> {
    await until(
      async () => {
        if (!this.isShared) this.temporal.expectAlive('Temporal answered');
        try {
          this.#connection = await Connection.connect({
            address: this.address,
            interceptors: [repeatRequests],
          });
          return await servesWorkflows(this.#connection);
        } catch {
          return false;
        }
      },
      startMs,
      'Temporal',
    );
    this.client = new Client({
      connection: this.#connection!,
      namespace: this.namespace,
      dataConverter: createDataConverter(readPayloadKeys(this.environment)),
    });
  }

  /** The plain `temporal` command, against this server. */
  async temporalCli(...args: string[]): Promise<string> {
    const cli = this.#process('cli', temporalPath(), [
      '--address',
      this.address,
      '--namespace',
      this.namespace,
      ...args,
    ]);
    const code = await cli.exited;
    if (code !== 0) throw new Error(`temporal ${args.join(' ')} ended with ${String(code)}: ${cli.output}`);
    return cli.output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection?.close();
    for (const worker of this.workers) worker.signal('SIGCONT');
    await Promise.all(this.workers.map((worker) => worker.stop('SIGTERM', 10_000)));
    if (!this.isShared) {
      await Promise.all([this.policy.stop('SIGTERM', 3_000), this.trainer.stop('SIGTERM', 3_000)]);
      if (this.#ownsTemporal) {
        await this.temporal.stop('SIGTERM', 5_000);
        await this.database.dispose();
      }
    }
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  async #registerNamespace(): Promise<void> {
    await this.temporalCli('operator', 'namespace', 'create', '--retention', '24h');
    await until(
      () =>
        this.client.workflow
          .count()
          .then(() => true)
          .catch(() => false),
      startMs,
      `the namespace ${this.namespace}`,
    );
  }

  #process(name: string, command: string, args: string[], environment: NodeJS.ProcessEnv = {}): TestProcess {
    return new TestProcess(command, args, {
      env: { ...this.environment, ...environment },
      cwd: repository,
      log: join(this.logs ?? this.home, `${name}.log`),
      writesLog: this.logs !== undefined,
    });
  }
}
