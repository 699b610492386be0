import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Launch } from '../processes.ts';
import { serviceFingerprint } from '../record.ts';
import type { Service } from '../supervised-service.ts';

/** How the Python package of trainer/ is run. */
export class TrainerPackage {
  readonly python: string;
  readonly folder: string;
  readonly #env: Record<string, string | undefined>;

  constructor(python: string, folder: string, env: Record<string, string | undefined>) {
    this.python = python;
    this.folder = folder;
    this.#env = env;
  }

  /** What a process of another stack may have been started with otherwise. */
  fingerprint(rest: unknown[]): string {
    const settings = [this.python, this.#env.GENENV_MODELS, ...rest];
    return serviceFingerprint(settings, [join(this.folder, 'genenv_trainer')]);
  }

  /** @param secrets that only this process gets */
  launch(args: string[], secrets: Record<string, string> = {}): Launch {
    const env = {
      ...this.#env,
      ...secrets,
      PYTHONPATH: this.folder,
      PYTHONUNBUFFERED: '1',
      TOKENIZERS_PARALLELISM: 'false',
    };
    return { command: this.python, args: ['-m', 'genenv_trainer', ...args], env };
  }
}

const PING_MS = 2_000;

/** The resident, already imported parent that training jobs are forked from (docs/training-jobs.md). */
export class TrainerParent implements Service {
  readonly name = 'trainer';
  readonly title = 'Trainer';
  readonly readySeconds = 240;
  readonly graceSeconds = 15;
  readonly #trainer: TrainerPackage;
  readonly #socket: string;

  constructor(trainer: TrainerPackage, socket: string) {
    this.#trainer = trainer;
    this.#socket = socket;
  }

  fingerprint(): string {
    return this.#trainer.fingerprint([this.#socket]);
  }

  launch(): Launch {
    rmSync(this.#socket, { force: true });
    return this.#trainer.launch(['resident', '--socket', this.#socket]);
  }

  answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.#socket);
      let answer = '';
      const done = (ready: boolean): void => {
        socket.destroy();
        resolve(ready);
      };
      socket.setTimeout(PING_MS, () => done(false));
      socket.on('connect', () => socket.write('{"ping": true}\n'));
      socket.on('data', (data) => {
        answer += data.toString();
        if (answer.includes('\n')) done(/"ready":\s*true/.test(answer));
      });
      socket.on('error', () => done(false));
      socket.on('end', () => done(false));
    });
  }
}
