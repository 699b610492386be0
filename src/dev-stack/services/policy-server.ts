import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { HangWatch } from '../hang-watch.ts';
import { tryPort } from '../ports.ts';
import type { Launch } from '../processes.ts';
import type { StackPaths } from '../record.ts';
import type { Service } from '../supervised-service.ts';
import { tokenName } from '../stack-secrets.ts';
import type { TrainerPackage } from './trainer.ts';

/** The embedded policy server (docs/policy-server.md). */
export class PolicyServerService implements Service {
  readonly name = 'policy-server';
  readonly title = 'Policy server';
  readonly readySeconds = 240;
  readonly graceSeconds = 15;
  readonly hangWatch = new HangWatch(() => this.#isStuck());
  readonly #trainer: TrainerPackage;
  readonly #paths: StackPaths;
  readonly #token: string;
  #port: number;
  #pinned = false;

  constructor(
    trainer: TrainerPackage,
    paths: StackPaths,
    { ports, token }: { ports: Record<string, number>; token: string },
  ) {
    this.#trainer = trainer;
    this.#paths = paths;
    this.#token = token;
    this.#port = ports.policyServer ?? 0;
  }

  /** Base URL of its OpenAI API. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }
  ports(): Record<string, number> {
    return { policyServer: this.#port };
  }
  fingerprint(): string {
    return this.#trainer.fingerprint([this.#paths.store, tokenName(this.#token)]);
  }

  async launch(): Promise<Launch> {
    mkdirSync(this.#paths.store, { recursive: true });
    rmSync(this.#paths.policyServerPort, { force: true });
    // The first time the system chooses a port; from then on it stays, since other services know it.
    if (!this.#pinned && (await tryPort(this.#port)) === null) this.#port = 0;
    const port = this.#port;
    if (!this.#pinned) this.#port = 0;
    const { store, policyServerPort } = this.#paths;
    return this.#trainer.launch(
      ['serve', '--store', store, '--port', String(port), '--port-file', policyServerPort],
      { GENENV_POLICY_TOKEN: this.#token },
    );
  }

  async answers(): Promise<boolean> {
    if (this.#port === 0)
      this.#port = (JSON.parse(readFileSync(this.#paths.policyServerPort, 'utf8')) as { port: number }).port;
    return (await this.#health()).ok;
  }

  /** Whether its engine has been at one piece of work for longer than any is expected to take. */
  async #isStuck(): Promise<boolean> {
    const response = await this.#health();
    return response.status === 503 && ((await response.json()) as { status?: string }).status === 'stuck';
  }

  #health(): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#port}/health`, { signal: AbortSignal.timeout(2_000) });
  }

  prepare(): Promise<void> {
    this.#pinned = true;
    return Promise.resolve();
  }
}
