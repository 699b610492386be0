import { join } from 'node:path';
import { engineModelFolders } from '../../infra/setup/locations.mjs';
import { modelFolders } from '../config/permitted-folders.ts';
import { childEnvironment } from '../processes/child-environment.ts';
import { Python } from '../processes/python.ts';
import { survivePrintFailures } from '../runtime/output-streams.ts';
import { identify } from '../runtime/process-identity.ts';
import { endLeftovers, STACK_MARK } from './leftovers.ts';
import { endProcess } from './processes.ts';
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
import { VllmServer } from './services/vllm-server.ts';
import { WorkerProcess } from './services/worker-process.ts';
import { removeSocketFolder, stackSecrets } from './stack-secrets.ts';
import type { StackSecrets } from './stack-secrets.ts';
import { SupervisedService } from './supervised-service.ts';
import type { StackNeeds } from './stack-needs.ts';
import type { Service } from './supervised-service.ts';

export interface StackOptions {
  paths: StackPaths;
  command: 'run' | 'up';
  cwd: string;
  services: (ports: Record<string, number>, secrets: StackSecrets) => StackServices;
  say: (line: string) => void;
}

/** The embedded stack of a home: its processes, its lock and its record. A home has at most one. */
export class EmbeddedStack {
  readonly #options: StackOptions;
  readonly #lock: StackLock;
  readonly #record: StackRecord;
  readonly #secrets: StackSecrets;
  readonly #services: StackServices;
  readonly #supervise: (service: Service) => SupervisedService;
  /** What has been started, or is being started, in that order. */
  readonly #supervised: SupervisedService[] = [];
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
    // Whoever has the stack lives to end it, if what it prints to is full or gone, too.
    survivePrintFailures();
    this.#record = readStackRecord(paths.record);
    this.#secrets = stackSecrets(paths, this.#record);
    this.#update(this.#secrets);
    this.#services = options.services(this.#record.ports, this.#secrets);
    const own = identify(process.pid);
    this.#update({ owner: own === null ? null : { ...own, command }, state: 'starting', addresses: null });
    let onGivenUp: (error: Error) => void = () => undefined;
    this.givenUp = new Promise((resolve) => (onGivenUp = resolve));
    this.#supervise = (service) =>
      new SupervisedService(service, {
        cwd,
        logs: paths.logs,
        recorded: this.#record.processes[service.name],
        record: (recorded) => this.#recordProcess(service.name, recorded),
        say,
        onGivenUp,
      });
  }

  /** Starts all services; on a failure the caller stops the stack. */
  async start(): Promise<StackAddresses> {
    const wanted = new Set<ServiceName>();
    for (const stage of this.#services.stages) {
      const services = typeof stage === 'function' ? await stage() : stage;
      if (this.#stopped !== null) throw new Error('the stack was stopped while it started');
      for (const { name } of services) wanted.add(name);
      const starting = services.map((service) => this.#startService(service));
      const failed = (await Promise.allSettled(starting)).find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    }
    await this.#endOthers(wanted);
    const addresses = this.#services.addresses();
    this.#update({ state: 'ready', addresses });
    return addresses;
  }

  async #startService(service: Service): Promise<void> {
    const { say } = this.#options;
    const supervised = this.#supervise(service);
    this.#supervised.push(supervised);
    const startedAt = performance.now();
    const outcome = await supervised.start();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    say(`${service.title}: ${outcome === 'adopted' ? 'still running, taken over' : `ready in ${seconds} s`}`);
    this.#update({ ports: { ...this.#record.ports, ...service.ports?.() } });
  }

  /** Ends what an earlier stack left and this one does not use. */
  async #endOthers(wanted: ReadonlySet<ServiceName>): Promise<void> {
    for (const [name, process] of Object.entries(this.#record.processes)) {
      if (wanted.has(name as ServiceName)) continue;
      await endProcess(process, { graceSeconds: LEFTOVER_GRACE_SECONDS });
      this.#recordProcess(name as ServiceName, null);
    }
  }

  /** Ends all processes, the last started first. `hurry` kills what has not ended yet. */
  stop(hurry?: AbortSignal): Promise<void> {
    this.#stopped ??= this.#stop(hurry);
    return this.#stopped;
  }

  async #stop(hurry?: AbortSignal): Promise<void> {
    const { paths } = this.#options;
    for (const supervised of [...this.#supervised].reverse()) await supervised.stop(hurry);
    // What an interrupted start left, and training jobs, which have sessions of their own.
    await endLeftovers(paths.home, this.#record, hurry);
    removeSocketFolder(paths, this.#secrets);
    this.#updateIfPossible({
      owner: null,
      state: 'stopped',
      addresses: null,
      trainerSocket: null,
      processes: {},
    });
    this.#lock.release();
  }

  #recordProcess(name: ServiceName, recorded: RecordedProcess | null): void {
    const remaining = Object.fromEntries(
      Object.entries(this.#record.processes).filter(([key]) => key !== name),
    );
    this.#updateIfPossible({ processes: recorded === null ? remaining : { ...remaining, [name]: recorded } });
  }

  /**
   * A record that cannot be written, on a full disk, fails no restart and no end: the next one has the change
   * too, and a process that no record names is known by its mark.
   */
  #updateIfPossible(change: Partial<StackRecord>): void {
    try {
      this.#update(change);
    } catch (error) {
      this.#options.say(`the stack's record was not written: ${(error as Error).message}`);
    }
  }

  #update(change: Partial<StackRecord>): void {
    Object.assign(this.#record, change);
    writeStackRecord(this.#options.paths.record, this.#record);
  }
}

const LEFTOVER_GRACE_SECONDS = 15;

/** Programs and environment that the stack's processes are started with. */
export interface Programs {
  node: string;
  python: string;
  temporal: string;
  /** The Python of vLLM, which may not be installed. */
  vllmPython: string;
  repository: string;
  env: Record<string, string | undefined>;
}

/**
 * The services of a stack: those of one stage start together, after those of the stage before, and end in
 * reverse order. A stage may be decided when those before it run.
 */
export interface StackServices {
  stages: (Service[] | (() => Promise<Service[]>))[];
  addresses(): StackAddresses;
}

/** What somebody uses: said when the stack starts, or found out when its Temporal server runs. */
export interface StackUse {
  needs: StackNeeds;
  /** What those need besides whose workflows were interrupted earlier, and continue now. */
  moreNeeds: (server: { address: string; namespace: string }) => Promise<StackNeeds>;
  /** Whether Temporal's UI runs. */
  hasUi: boolean;
}

/** Temporal's dev server and the services that are needed, then the worker. */
export function embeddedServices(
  { node, python, temporal, vllmPython, repository, env }: Programs,
  paths: StackPaths,
  { ports, secrets }: { ports: Record<string, number>; secrets: StackSecrets },
  { needs, moreNeeds, hasUi }: StackUse,
): StackServices {
  // The stack's own profile replaces the user's: its addresses, keys and certificates are for other servers.
  const stackEnv = {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'))),
    ...engineModelFolders(),
    [STACK_MARK]: paths.home,
  };
  const { tokens, trainerSocket } = secrets;
  // Keys are the worker's: it alone gets the whole environment.
  const trainerPackage = new TrainerPackage(
    new Python(python, stackEnv),
    join(repository, 'trainer'),
    modelFolders(env.GENENV_MODELS, paths.home),
  );
  const server = new TemporalServer(temporal, paths, childEnvironment(stackEnv), { ports, hasUi });
  let policyServer: PolicyServerService | null = null;
  let trainer: TrainerParent | null = null;
  let vllm: VllmServer | null = null;
  const missing = (wanted: StackNeeds): Service[] => {
    const added: Service[] = [];
    if (wanted.policyServer && policyServer === null)
      added.push(
        (policyServer = new PolicyServerService(trainerPackage, paths, {
          ports,
          token: tokens.policyServer,
        })),
      );
    if (wanted.trainer && trainer === null)
      added.push((trainer = new TrainerParent(trainerPackage, trainerSocket)));
    if (wanted.vllm !== null && vllm === null)
      added.push(
        (vllm = new VllmServer(new Python(vllmPython, stackEnv), wanted.vllm, { ports, token: tokens.vllm })),
      );
    return added;
  };
  const addresses = (): StackAddresses => ({
    temporal: server.address,
    namespace: server.namespace,
    ui: server.ui,
    policyServer: policyServer?.url ?? null,
    trainerSocket,
    vllm: vllm && { url: vllm.url, settings: vllm.settings },
  });
  const worker = new WorkerProcess(
    { node, repository, home: paths.home, python, profile: paths.profile, env: stackEnv, tokens, addresses },
    ports,
  );
  return {
    stages: [
      [server, ...missing(needs)],
      async () => missing(await moreNeeds({ address: server.address, namespace: server.namespace })),
      [worker],
    ],
    addresses,
  };
}
