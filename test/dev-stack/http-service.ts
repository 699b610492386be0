import { choosePort } from '../../src/dev-stack/ports.ts';
import type { Launch } from '../../src/dev-stack/processes.ts';
import type { ServiceName } from '../../src/dev-stack/record.ts';
import type { Service } from '../../src/dev-stack/supervised-service.ts';

/** A service of a few lines that answers over HTTP, in place of one that takes seconds to import PyTorch. */
export class HttpService implements Service {
  readonly name: ServiceName;
  readonly title: string;
  readonly readySeconds = 10;
  readonly graceSeconds = 1;
  readonly #script: string;
  readonly #env: Record<string, string | undefined>;
  #port: number;

  constructor(
    name: ServiceName,
    ports: Record<string, number>,
    env: Record<string, string | undefined>,
    script = '',
  ) {
    this.name = name;
    this.title = name;
    this.#port = ports[name] ?? 0;
    this.#env = env;
    this.#script = script;
  }

  ports(): Record<string, number> {
    return { [this.name]: this.#port };
  }
  fingerprint(): string {
    return this.#script;
  }
  async launch(): Promise<Launch> {
    this.#port = await choosePort([this.#port]);
    const server = `require('node:http').createServer((_, response) => response.end('ok')).listen(${this.#port}, '127.0.0.1');`;
    return { command: process.execPath, args: ['-e', `${this.#script};${server}`], env: this.#env };
  }
  async answers(): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${this.#port}`)).ok;
  }
}
