import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fingerprint } from '../fingerprint.ts';
import type { Launch, Service } from '../service.ts';
import type { StackPaths } from '../stack-paths.ts';
import type { TrainerPackage } from './trainer-package.ts';

const PING_MS = 2_000;

/** The resident, already imported parent that training jobs are forked from (docs/training-jobs.md). */
export class TrainerParent implements Service {
  readonly name = 'trainer';
  readonly title = 'Trainer';
  readonly readySeconds = 240;
  readonly graceSeconds = 15;
  readonly #trainer: TrainerPackage;
  readonly #paths: StackPaths;

  constructor(trainer: TrainerPackage, paths: StackPaths) {
    this.#trainer = trainer;
    this.#paths = paths;
  }

  fingerprint(): string {
    return fingerprint(
      [this.#trainer.python, this.#paths.trainerSocket],
      [join(this.#trainer.folder, 'genenv_trainer')],
    );
  }

  launch(): Launch {
    rmSync(this.#paths.trainerSocket, { force: true });
    return this.#trainer.launch(['resident', '--socket', this.#paths.trainerSocket]);
  }

  answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.#paths.trainerSocket);
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
