import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shareHome } from '../../src/runs/connect-store.ts';
import { faultFile } from '../../test-support/armed-faults.ts';
import { withFields } from '../../test-support/experiments.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import { RealSlurm } from '../../test-support/slurm.ts';
import { runEnds } from '../../test-support/run-ends.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { VersityGateway } from '../../test-support/versity-gateway.ts';
import { ModelProxy } from './model-proxy.ts';
import { S3Proxy } from './s3-proxy.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { TlsProxy } from './tls-proxy.ts';
import { Trail } from './trail.ts';

export const HEARTBEAT_SECONDS = 5;
/** `disk`, or runs in a `bucket`, training jobs of two processes (`ranks`), or those of a Slurm cluster (`slurm`). */
export type StackKind = 'disk' | 'bucket' | 'ranks' | 'slurm';

/** What the runs of a stack run; a run of it that nobody disturbs is what the others are compared with. */
const experimentFiles: Record<StackKind, Record<string, unknown>> = {
  disk: tinyExperiment(),
  bucket: tinyExperiment(),
  // Each job starts torch twice.
  ranks: withFields(tinyExperiment(), {
    epochs: 2,
    'trainer.launcher': { type: 'torchrun' },
    'trainer.processes': 2,
    'agent.training.stepsPerEpoch': 4,
  }),
  slurm: withFields(tinyExperiment(), {
    epochs: 2,
    'trainer.launcher': { type: 'slurm' },
    'agent.training.stepsPerEpoch': 4,
    // Only lines of progress show that a job lives, and it prints none while it imports torch.
    'durability.heartbeatSeconds': 20,
  }),
};

/** Ample for a run of seconds. */
const undisturbedMs = 480_000;

/** A real S3 server, and the proxy through which the worker reaches it. */
interface BucketParts {
  gateway: VersityGateway;
  proxy: S3Proxy;
}

/**
 * Real processes, with proxies between them, and the ledger of a run that nobody disturbed. Runs on it come
 * one after the other.
 */
export class ChaosStack implements AsyncDisposable {
  readonly kind: StackKind;
  readonly live: LiveStack;
  readonly model: ModelProxy;
  readonly tcp: TcpProxy;
  readonly trail: Trail;
  /** Where faults are armed and trails are left. */
  readonly folder: string;
  reference = '';
  worker: TestProcess | undefined;
  bucket: BucketParts | undefined;
  cluster: RealSlurm | undefined;
  #secondHost: LiveStack | undefined;
  #tls: TlsProxy | undefined;

  private constructor(kind: StackKind, live: LiveStack, model: ModelProxy, tcp: TcpProxy) {
    this.kind = kind;
    this.live = live;
    this.model = model;
    this.tcp = tcp;
    this.folder = join(live.home, 'chaos');
    mkdirSync(this.folder);
    this.trail = new Trail(this.folder);
  }

  static async start(kind: StackKind = 'disk'): Promise<ChaosStack> {
    const live = await LiveStack.start();
    const stack = new ChaosStack(
      kind,
      live,
      await ModelProxy.start(live.policyUrl),
      await TcpProxy.start(Number(live.address.split(':')[1])),
    );
    try {
      if (kind === 'bucket') await stack.#startBucket();
      if (kind === 'slurm') {
        mkdirSync(stack.path('slurm'));
        stack.cluster = await RealSlurm.start(stack.path('slurm'));
      }
      await stack.ready();
      await stack.live.startRun('undisturbed', stack.experimentFile);
      await runEnds(stack.live.client, 'undisturbed', undisturbedMs);
      stack.reference = await stack.ledger('undisturbed');
      return stack;
    } catch (error) {
      await stack[Symbol.asyncDispose]();
      throw error;
    }
  }

  get experimentFile(): Record<string, unknown> {
    return experimentFiles[this.kind];
  }

  async ledger(id: string): Promise<string> {
    await this.live.run(id).refresh();
    return this.live.ledger(id);
  }

  /** No fault waits any more. */
  reset(): void {
    this.model.reset();
    this.bucket?.proxy.reset();
    rmSync(faultFile(this.folder), { force: true });
  }

  /** The worker reaches the bucket through the proxy; the oracle looks at it directly. */
  async #startBucket(): Promise<void> {
    const gateway = await VersityGateway.start(join(this.folder, 'gateway'));
    const proxy = await S3Proxy.start(gateway.endpoint);
    this.bucket = { gateway, proxy };
    this.#useBucket(this.live);
    shareHome(gateway.bucket('team'), { store: this.path('store'), runs: this.path('runs') });
  }

  #useBucket({ home }: LiveStack): void {
    const { gateway, proxy } = this.bucket!;
    const settings = { ...gateway.settings('team'), endpoint: proxy.endpoint };
    writeFileSync(join(home, 'store.json'), JSON.stringify(settings));
  }

  /** A worker on another host, which shares the bucket alone with the first; it is started when it is asked for. */
  async startWorkerOnSecondHost(): Promise<TestProcess> {
    const environment = { ...this.bucket!.gateway.environment, GENENV_TEST_FAULTS: this.folder };
    this.#secondHost ??= await this.live.addHost(environment);
    this.#useBucket(this.#secondHost);
    await this.#secondHost.policyReady();
    return await this.#secondHost.startWorker();
  }

  /** Everything answers, and a worker polls. */
  async ready(): Promise<void> {
    if (!this.live.temporal.alive) this.live.startTemporal();
    if (!this.live.policy.alive) this.live.startPolicyServer();
    if (!this.live.trainer.alive) this.live.startTrainer();
    await this.live.policyReady();
    await this.live.connect();
    if (this.worker?.alive !== true) await this.startWorker();
  }

  async startWorker(environment: NodeJS.ProcessEnv = {}): Promise<TestProcess> {
    this.worker = await this.live.startWorker({
      environment: {
        GENENV_TEST_FAULTS: this.folder,
        GENENV_POLICY_SERVER: this.model.url,
        ...this.bucket?.gateway.environment,
        ...this.cluster?.env,
        ...environment,
      },
    });
    return this.worker;
  }

  /** Temporal behind TLS; started when it is asked for. */
  async tls(): Promise<TlsProxy> {
    const port = Number(this.live.address.split(':')[1]);
    this.#tls ??= await TlsProxy.start(port, join(this.folder, 'tls'));
    return this.#tls;
  }

  path(...parts: string[]): string {
    return join(this.live.home, ...parts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#secondHost?.[Symbol.asyncDispose]();
    await this.live[Symbol.asyncDispose]();
    await Promise.all([this.model.close(), this.tcp.close(), this.#tls?.close()]);
    await this.bucket?.proxy.close();
    await this.bucket?.gateway[Symbol.asyncDispose]();
    await this.cluster?.[Symbol.asyncDispose]();
  }
}
