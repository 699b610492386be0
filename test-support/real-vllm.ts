/** A real vLLM of the embedded stack, and adapters of a real model to publish to it. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  engineFolder,
  engineModelFolder,
  engineModelFolders,
  repository,
} from '../infra/setup/locations.mjs';
import { STACK_MARK } from '../src/dev-stack/leftovers.ts';
import type { RecordedProcess } from '../src/dev-stack/record.ts';
import { VllmServer } from '../src/dev-stack/services/vllm-server.ts';
import { SupervisedService } from '../src/dev-stack/supervised-service.ts';
import { BASE_MODEL } from '../src/dev-stack/vllm-settings.ts';
import { ensurePolicyServed, withdrawPolicies } from '../src/inference/publish.ts';
import { writeCanary } from '../src/store/canaries.ts';
import { ObjectStore } from '../src/store/object-store.ts';
import type { PolicyVersion } from '../src/types/activity-types.ts';
import type { Canary } from '../src/types/training-job.ts';
import { createModelClients } from '../src/worker/model-servers.ts';
import { RealTrainer } from './real-adapters.ts';

export const vllmPython = join(engineFolder('vllm'), 'bin/python');
export const smollm2 = engineModelFolder('smollm2') ?? '';

export class RealVllm implements AsyncDisposable {
  /** Folder for the files of a test. */
  readonly home: string;
  readonly trainer: RealTrainer;
  readonly store: ObjectStore;
  readonly policies: PolicyVersion[] = [];
  readonly canaries: Canary[] = [];
  /** What the supervisor has said. */
  readonly said: string[] = [];
  readonly serving: { type: 'vllm'; maxModelLen: number };
  readonly #server: VllmServer;
  readonly #supervised: SupervisedService;
  #recorded: RecordedProcess | null = null;

  private constructor(maxModelLen: number) {
    this.home = mkdtempSync(join(tmpdir(), 'genenv-vllm-'));
    this.store = new ObjectStore(join(this.home, 'store'));
    this.trainer = new RealTrainer(smollm2);
    this.serving = { type: 'vllm', maxModelLen };
    this.#server = new VllmServer(
      vllmPython,
      { model: 'engine:smollm2', precision: 'float32', maxLoraRank: 8, maxModelLen },
      // Threads that may move to a free core: this machine has other work.
      {
        ...{ VLLM_CPU_KVCACHE_SPACE: '1', VLLM_CPU_OMP_THREADS_BIND: 'nobind' },
        ...process.env,
        [STACK_MARK]: this.home,
      },
      {},
    );
    this.#supervised = new SupervisedService(this.#server, {
      cwd: repository,
      logs: this.home,
      recorded: undefined,
      record: (recorded) => (this.#recorded = recorded),
      say: (line) => this.said.push(line),
      onGivenUp: (error) => this.said.push(error.message),
    });
  }

  /** Starts a server, and makes versions of a policy, each a step of training after the one before. */
  static async start({
    maxModelLen,
    versions,
  }: {
    maxModelLen: number;
    versions: number;
  }): Promise<RealVllm> {
    Object.assign(process.env, engineModelFolders());
    const vllm = new RealVllm(maxModelLen);
    try {
      const made = join(vllm.home, 'made');
      mkdirSync(made);
      const [canaries] = await Promise.all([vllm.trainer.make(made, versions), vllm.#supervised.start()]);
      vllm.canaries.push(...canaries);
      for (const [version, canary] of vllm.canaries.entries()) {
        const checkpoint = await vllm.store.putFolder(join(made, String(version)));
        await writeCanary(vllm.store.root, checkpoint, canary);
        vllm.policies.push({ name: `agent@000${version}-made`, checkpoint, trainer_state: null });
      }
      return vllm;
    } catch (error) {
      await vllm[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The clients of a worker. */
  get clients(): ReturnType<typeof createModelClients> {
    const addresses = { policyServer: '', vllmServer: this.#server.url };
    return createModelClients(addresses, process.env, (_, send) => send());
  }

  /** Process of the server's front. */
  get pid(): number {
    if (this.#recorded === null) throw new Error('the server does not run');
    return this.#recorded.pid;
  }

  folder(version: number): string {
    return this.store.path(this.policies[version]!.checkpoint!);
  }

  /** Publishes a version as a run does. */
  publish(version: number): Promise<boolean> {
    const { store, clients, serving, policies } = this;
    return ensurePolicyServed({ store, adapterServers: clients.adapterServers }, serving, policies[version]!);
  }

  /** Loads a folder under any name, without a check. */
  load(name: string, folder: string): Promise<void> {
    return this.clients.adapterServers(this.serving)[0]!.load(name, folder);
  }

  unload(...names: string[]): Promise<void> {
    return withdrawPolicies(this.clients, this.serving, names);
  }

  /** Names of the adapters that the server lists. */
  async names(): Promise<string[]> {
    const response = await fetch(`${this.#server.url}/models`);
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id).filter((id) => id !== BASE_MODEL);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.trainer[Symbol.dispose]();
    await this.#supervised.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}
