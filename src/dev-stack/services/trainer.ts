import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import type { Python } from '../../processes/python.ts';
import type { Launch } from '../processes.ts';
import { serviceFingerprint } from '../record.ts';
import type { Service } from '../supervised-service.ts';

/** How the Python package of trainer/ is run. */
export class TrainerPackage {
  readonly #python: Python;
  readonly folder: string;
  readonly #modelFolders: string;

  /** @param modelFolders in which the operator permits pretrained models */
  constructor(python: Python, folder: string, modelFolders: readonly string[]) {
    this.#python = python;
    this.folder = folder;
    this.#modelFolders = modelFolders.join(delimiter);
  }

  get python(): string {
    return this.#python.path;
  }

  /** What a process of another stack may have been started with otherwise. */
  fingerprint(rest: unknown[]): string {
    const settings = [this.python, this.#modelFolders, ...rest];
    return serviceFingerprint(settings, [join(this.folder, 'genenv_trainer')]);
  }

  /** @param secrets that only this process gets */
  launch(args: string[], secrets: Record<string, string> = {}): Launch {
    return this.#python.start(['-m', 'genenv_trainer', ...args], {
      ...secrets,
      GENENV_MODELS: this.#modelFolders,
      PYTHONPATH: this.folder,
      PYTHONUNBUFFERED: '1',
      TOKENIZERS_PARALLELISM: 'false',
    });
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
