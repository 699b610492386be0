import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { BASE_MODEL } from '../src/dev-stack/vllm-settings.ts';
import { ensurePolicyServed, withdrawPolicies } from '../src/inference/publish.ts';
import { writeCanary } from '../src/store/canaries.ts';
import { ObjectStore } from '../src/store/object-store.ts';
import type { PolicyVersion } from '../src/types/run-state.ts';
import type { Canary } from '../src/types/training-job.ts';
import { createModelClients } from '../src/worker/model-servers.ts';
import { ManagedVllm, smollm2 } from './managed-vllm.ts';
import { RealTrainer } from './real-adapters.ts';
import { resolveLoopback } from './permitted-servers.ts';

/** A real vLLM of the embedded stack, and adapters of a real model to publish to it. */
export class RealVllm implements AsyncDisposable {
  readonly trainer = new RealTrainer(smollm2);
  readonly store: ObjectStore;
  readonly policies: PolicyVersion[] = [];
  readonly canaries: Canary[] = [];
  readonly serving: { type: 'vllm'; maxModelLen: number };
  readonly #managed: ManagedVllm;

  private constructor(maxModelLen: number) {
    this.serving = { type: 'vllm', maxModelLen };
    this.#managed = new ManagedVllm({
      ...{ model: 'engine:smollm2', precision: 'float32', maxLoraRank: 8 },
      maxModelLen,
    });
    this.store = new ObjectStore(this.#managed.store);
  }

  /** Starts a server, and makes versions of a policy, each a step of training after the one before. */
  static async start({
    maxModelLen,
    versions,
  }: {
    maxModelLen: number;
    versions: number;
  }): Promise<RealVllm> {
    const vllm = new RealVllm(maxModelLen);
    try {
      const made = join(vllm.home, 'made');
      mkdirSync(made);
      const [canaries] = await Promise.all([vllm.trainer.make(made, versions), vllm.#managed.start()]);
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

  /** Folder for the files of a test. */
  get home(): string {
    return this.#managed.home;
  }

  /** What the supervisor has said. */
  get said(): readonly string[] {
    return this.#managed.said;
  }

  /** The clients of a worker. */
  get clients(): ReturnType<typeof createModelClients> {
    const addresses = { policyServer: '', vllmServer: this.#managed.url };
    return createModelClients(addresses, resolveLoopback, (_, send) => send(), {
      tokenOf: () => this.#managed.token,
    });
  }

  /** Process of the server's front. */
  get pid(): number {
    return this.#managed.recorded.pid;
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
    const response = await fetch(`${this.#managed.url}/models`, {
      headers: { authorization: `Bearer ${this.#managed.token}` },
    });
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id).filter((id) => id !== BASE_MODEL);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.trainer[Symbol.dispose]();
    await this.#managed[Symbol.asyncDispose]();
  }
}
