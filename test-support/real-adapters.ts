/** Adapters over a real model, and their log-probabilities, by the trainer's own code in a process of its own. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { engineModelFolders, pythonEnvironment, repository } from '../infra/setup/locations.mjs';
import type { Completion } from '../src/inference/policy-client.ts';
import type { Canary } from '../src/types/training-job.ts';

export interface Measurement {
  /** Token ids of each prompt. */
  prompts: number[][];
  /** Text of each completion. */
  texts: string[];
  /** Log-probabilities of each completion's tokens. */
  logprobs: number[][];
}

export class RealTrainer implements Disposable {
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  /** @param base folder of the base model */
  constructor(base: string) {
    this.#process = spawn(
      join(pythonEnvironment(), 'bin/python'),
      [join(import.meta.dirname, 'real_adapters.py'), base],
      {
        env: {
          // Threads that wait for each other in busy loops take the time of the server beside them.
          ...{ OMP_NUM_THREADS: '1', OMP_WAIT_POLICY: 'PASSIVE' },
          ...process.env,
          ...engineModelFolders(),
          PYTHONPATH: join(repository, 'trainer'),
        },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    this.#answers = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]();
  }

  /** Makes adapters in `<folder>/0`, `<folder>/1` ..., each a step of training after the one before. */
  make(folder: string, count: number): Promise<Canary[]> {
    return this.#ask({ make: { folder, count } });
  }

  /** @param adapter folder; null = the base model */
  measure(
    adapter: string | null,
    completions: readonly Completion[],
    temperature: number,
    prompts: readonly string[] = [],
  ): Promise<Measurement> {
    const sequences = completions.map(({ prompt_token_ids: prompt, token_ids: completion }) => ({
      prompt,
      completion,
      temperature,
    }));
    return this.#ask({ measure: { adapter, prompts, sequences } });
  }

  /** One question after the other. */
  async #ask<Answer>(command: object): Promise<Answer> {
    this.#process.stdin!.write(`${JSON.stringify(command)}\n`);
    const answer = await this.#answers.next();
    if (answer.done === true) throw new Error('the trainer of this test has ended; its error is above');
    return JSON.parse(answer.value) as Answer;
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL');
  }
}

/** Mean difference of a server's log-probabilities to the trainer's. */
export function meanDifference(completions: readonly Completion[], { logprobs }: Measurement): number {
  const differences = completions.flatMap((completion, index) =>
    completion.logprobs.map((logprob, token) => Math.abs(logprob - logprobs[index]![token]!)),
  );
  return differences.reduce((sum, difference) => sum + difference, 0) / differences.length;
}
