import type { Launch } from '../service.ts';

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

  launch(args: string[]): Launch {
    const env = {
      ...this.#env,
      PYTHONPATH: this.folder,
      PYTHONUNBUFFERED: '1',
      TOKENIZERS_PARALLELISM: 'false',
    };
    return { command: this.python, args: ['-m', 'genenv_trainer', ...args], env };
  }
}
