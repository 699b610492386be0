import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
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
import { Python } from '../src/processes/python.ts';
import type { VllmSettings } from '../src/dev-stack/vllm-settings.ts';

const python = join(engineFolder('vllm'), 'bin/python');
export const smollm2 = engineModelFolder('smollm2') ?? '';
/** Whether vLLM and SmolLM2 are installed. */
export const hasVllm = existsSync(python) && existsSync(smollm2);

/** The vLLM of an embedded stack in a folder of its own: real, and started again when it ends. */
export class ManagedVllm implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), 'genenv-vllm-'));
  readonly store = join(this.home, 'store');
  /** What its supervisor has said. */
  readonly said: string[] = [];
  /** What it asks for. */
  readonly token = randomBytes(24).toString('base64url');
  readonly #server: VllmServer;
  readonly #supervised: SupervisedService;
  #recorded: RecordedProcess | null = null;

  constructor(settings: VllmSettings) {
    Object.assign(process.env, engineModelFolders());
    mkdirSync(this.store);
    const environment = { VLLM_CPU_KVCACHE_SPACE: '1', ...process.env, [STACK_MARK]: this.home };
    this.#server = new VllmServer(new Python(python, environment), settings, {
      ports: {},
      token: this.token,
    });
    this.#supervised = new SupervisedService(this.#server, {
      cwd: repository,
      logs: this.home,
      recorded: undefined,
      record: (recorded) => (this.#recorded = recorded),
      say: (line) => this.said.push(line),
      onGivenUp: (error) => this.said.push(error.message),
    });
  }

  async start(): Promise<void> {
    await this.#supervised.start();
  }

  /** Address, with `/v1`. */
  get url(): string {
    return this.#server.url;
  }

  /** Process of the server's front. */
  get recorded(): RecordedProcess {
    if (this.#recorded === null) throw new Error('the server does not run');
    return this.#recorded;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#supervised.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}
