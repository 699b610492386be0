import { join } from 'node:path';
import { endLeftovers, STACK_MARK } from './leftovers.ts';
import { identify } from './processes.ts';
import { readStackRecord, StackInUse, takeStackLock, writeStackRecord } from './record.ts';
import type {
  RecordedProcess,
  ServiceName,
  StackAddresses,
  StackLock,
  StackPaths,
  StackRecord,
} from './record.ts';
import { PolicyServerService } from './services/policy-server.ts';
import { TemporalServer } from './services/temporal-server.ts';
import { TrainerPackage, TrainerParent } from './services/trainer.ts';
import { WorkerProcess } from './services/worker-process.ts';
import { SupervisedService } from './supervised-service.ts';
import type { Service } from './supervised-service.ts';

export interface StackOptions {
  paths: StackPaths;
  command: 'run' | 'up';
  cwd: string;
  services: (ports: Record<string, number>) => StackServices;
  say: (line: string) => void;
}

/** The embedded stack of a home: its processes, its lock and its record. A home has at most one. */
export class EmbeddedStack {
  readonly #options: StackOptions;
  readonly #lock: StackLock;
  readonly #record: StackRecord;
  readonly #services: StackServices;
  readonly #supervised: { service: Service; supervised: SupervisedService }[][];
  /** Resolves, with the reason, when a process of the stack can not be kept running. */
  readonly givenUp: Promise<Error>;
  #stopped: Promise<void> | null = null;

  /** @throws StackInUse if another process runs this home's stack. */
  constructor(options: StackOptions) {
    const { paths, command, cwd, say } = options;
    this.#options = options;
    const lock = takeStackLock(paths.lock);
    if (lock === null) throw new StackInUse(paths, readStackRecord(paths.record));
    this.#lock = lock;
    this.#record = readStackRecord(paths.record);
    this.#services = options.services(this.#record.ports);
    const own = identify(process.pid);
    this.#update({ owner: own === null ? null : { ...own, command }, state: 'starting', addresses: null });
    let onGivenUp: (error: Error) => void = () => undefined;
    this.givenUp = new Promise((resolve) => (onGivenUp = resolve));
    const supervise = (service: Service): SupervisedService =>
      new SupervisedService(service, {
        cwd,
        logs: paths.logs,
        recorded: this.#record.processes[service.name],
        record: (recorded) => this.#recordProcess(service.name, recorded),
        say,
        onGivenUp,
      });
    this.#supervised = this.#services.stages.map((stage) =>
      stage.map((service) => ({ service, supervised: supervise(service) })),
    );
  }

  /** Starts all services; on a failure the caller stops the stack. */
  async start(): Promise<StackAddresses> {
    const { say } = this.#options;
    for (const stage of this.#supervised) {
      if (this.#stopped !== null) throw new Error('the stack was stopped while it started');
      const starting = stage.map(async ({ service, supervised }) => {
        const startedAt = performance.now();
        const outcome = await supervised.start();
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        say(
          `${service.title}: ${outcome === 'adopted' ? 'still running, taken over' : `ready in ${seconds} s`}`,
        );
        this.#update({ ports: { ...this.#record.ports, ...service.ports?.() } });
      });
      const failed = (await Promise.allSettled(starting)).find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    }
    const addresses = this.#services.addresses();
    this.#update({ state: 'ready', addresses });
    return addresses;
  }

  /** Ends all processes, the last started first. `hurry` kills what has not ended yet. */
  stop(hurry?: AbortSignal): Promise<void> {
    this.#stopped ??= this.#stop(hurry);
    return this.#stopped;
  }

  async #stop(hurry?: AbortSignal): Promise<void> {
    const { paths } = this.#options;
    for (const stage of [...this.#supervised].reverse())
      for (const { supervised } of [...stage].reverse()) await supervised.stop(hurry);
    // What an interrupted start left, and training jobs, which have sessions of their own.
    await endLeftovers(paths.home, this.#record, hurry);
    this.#update({ owner: null, state: 'stopped', addresses: null, processes: {} });
    this.#lock.release();
  }

  #recordProcess(name: ServiceName, recorded: RecordedProcess | null): void {
    const remaining = Object.fromEntries(
      Object.entries(this.#record.processes).filter(([key]) => key !== name),
    );
    this.#update({ processes: recorded === null ? remaining : { ...remaining, [name]: recorded } });
  }

  #update(change: Partial<StackRecord>): void {
    Object.assign(this.#record, change);
    writeStackRecord(this.#options.paths.record, this.#record);
  }
}

/** Programs and environment that the stack's processes are started with. */
export interface Programs {
  node: string;
  python: string;
  temporal: string;
  repository: string;
  env: Record<string, string | undefined>;
}

/**
 * The services of a stack: those of one stage start together, after those of the stage before, and end in
 * reverse order.
 */
export interface StackServices {
  stages: Service[][];
  addresses(): StackAddresses;
}

/** Temporal's dev server, policy server and trainer, then the worker. */
export function embeddedServices(
  { node, python, temporal, repository, env }: Programs,
  paths: StackPaths,
  ports: Record<string, number>,
): StackServices {
  // The stack's own profile replaces the user's: its addresses, keys and certificates are for other servers.
  const stackEnv = {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'))),
    [STACK_MARK]: paths.home,
  };
  const trainerPackage = new TrainerPackage(python, join(repository, 'trainer'), stackEnv);
  const server = new TemporalServer(temporal, paths, stackEnv, ports);
  const policyServer = new PolicyServerService(trainerPackage, paths, ports);
  const trainer = new TrainerParent(trainerPackage, paths);
  const addresses = (): StackAddresses => ({
    temporal: server.address,
    namespace: server.namespace,
    ui: server.ui,
    policyServer: policyServer.url,
    trainerSocket: paths.trainerSocket,
  });
  const worker = new WorkerProcess(
    { node, repository, home: paths.home, python, profile: paths.profile, env: stackEnv, addresses },
    ports,
  );
  return { stages: [[server, policyServer, trainer], [worker]], addresses };
}
