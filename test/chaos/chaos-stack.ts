import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { faultFile } from '../../test-support/armed-faults.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import { runEnds } from '../../test-support/run-ends.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { ModelProxy } from './model-proxy.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { TlsProxy } from './tls-proxy.ts';
import { Trail } from './trail.ts';

/** What all runs of the suite run; a run of it that nobody disturbs is what the others are compared with. */
export const experimentFile = tinyExperiment();

/** Ample for a run of seconds. */
const undisturbedMs = 240_000;

/**
 * Real processes, with proxies between them, and the ledger of a run that nobody disturbed. Runs on it come
 * one after the other.
 */
export class ChaosStack implements AsyncDisposable {
  readonly live: LiveStack;
  readonly model: ModelProxy;
  readonly tcp: TcpProxy;
  readonly trail: Trail;
  /** Where faults are armed and trails are left. */
  readonly folder: string;
  reference = '';
  worker: TestProcess | undefined;
  #tls: TlsProxy | undefined;

  private constructor(live: LiveStack, model: ModelProxy, tcp: TcpProxy) {
    this.live = live;
    this.model = model;
    this.tcp = tcp;
    this.folder = join(live.home, 'chaos');
    mkdirSync(this.folder);
    this.trail = new Trail(this.folder);
  }

  static async start(): Promise<ChaosStack> {
    const live = await LiveStack.start();
    const stack = new ChaosStack(
      live,
      await ModelProxy.start(live.policyUrl),
      await TcpProxy.start(Number(live.address.split(':')[1])),
    );
    try {
      await stack.ready();
      await stack.live.startRun('undisturbed', experimentFile);
      await runEnds(stack.live.client, 'undisturbed', undisturbedMs);
      stack.reference = stack.live.ledger('undisturbed');
      return stack;
    } catch (error) {
      await stack[Symbol.asyncDispose]();
      throw error;
    }
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
      environment: { GENENV_TEST_FAULTS: this.folder, GENENV_POLICY_SERVER: this.model.url, ...environment },
    });
    return this.worker;
  }

  /** Temporal behind TLS; started when it is asked for. */
  async tls(): Promise<TlsProxy> {
    const port = Number(this.live.address.split(':')[1]);
    this.#tls ??= await TlsProxy.start(port, join(this.folder, 'tls'));
    return this.#tls;
  }

  /** No fault waits any more. */
  disarm(): void {
    rmSync(faultFile(this.folder), { force: true });
  }

  path(...parts: string[]): string {
    return join(this.live.home, ...parts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.live[Symbol.asyncDispose]();
    await Promise.all([this.model.close(), this.tcp.close(), this.#tls?.close()]);
  }
}
