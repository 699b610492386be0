import { availableParallelism } from 'node:os';
import { vllmPlugins } from '../../../infra/setup/locations.mjs';
import type { Python } from '../../processes/python.ts';
import { choosePort } from '../ports.ts';
import type { Launch } from '../processes.ts';
import { serviceFingerprint } from '../record.ts';
import { tokenName } from '../stack-secrets.ts';
import type { Service } from '../supervised-service.ts';
import { vllmEnvironment, vllmFlags, vllmText } from '../vllm-settings.ts';
import type { VllmSettings } from '../vllm-settings.ts';

/** vLLM from the engine that set-up installs, for runs whose file leaves the address out. */
export class VllmServer implements Service {
  readonly name = 'vllm';
  readonly title = 'vLLM';
  readonly readySeconds = 900;
  /** A flag that it does not like, or too little memory, is no better the fifth time. */
  readonly maxStarts = 2;
  readonly graceSeconds = 20;
  readonly slowStart: string;
  readonly #python: Python;
  readonly settings: VllmSettings;
  /** What it asks for; undefined lets everybody of this machine ask. */
  readonly #token: string | undefined;
  #port: number;
  #pinned = false;

  constructor(
    python: Python,
    settings: VllmSettings,
    { ports, token }: { ports: Record<string, number>; token: string | undefined },
  ) {
    this.#python = python;
    this.settings = settings;
    this.#token = token;
    this.#port = ports.vllm ?? 0;
    this.slowStart = `serving ${vllmText(settings)}; this takes about a minute`;
  }

  /** Base URL of its OpenAI API. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }
  ports(): Record<string, number> {
    return { vllm: this.#port };
  }
  fingerprint(): string {
    return serviceFingerprint(
      [this.#python.path, vllmFlags(this.settings), tokenName(this.#token ?? '')],
      [vllmPlugins],
    );
  }

  async launch(): Promise<Launch> {
    // The first time any port will do; from then on it stays, since the worker knows it.
    if (!this.#pinned) this.#port = await choosePort([this.#port]);
    return this.#python.start(
      [
        // Its own command looks for a distribution that the processor build does not have.
        ...['-m', 'vllm.entrypoints.openai.api_server', '--host', '127.0.0.1', '--port', String(this.#port)],
        ...vllmFlags(this.settings),
      ],
      {
        PYTHONPATH: vllmPlugins,
        ...(this.#token !== undefined && { VLLM_API_KEY: this.#token }),
      },
      vllmEnvironment(availableParallelism()),
    );
  }

  async answers(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/health`, {
      signal: AbortSignal.timeout(2_000),
    });
    return response.ok;
  }

  prepare(): Promise<void> {
    this.#pinned = true;
    return Promise.resolve();
  }
}
