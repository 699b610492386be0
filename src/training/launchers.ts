import { constants } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import type { Python } from '../processes/python.ts';
import { openPlainFile } from '../store/plain-files.ts';

/** Starts the process of a training job. */
export interface Launcher {
  /**
   * Starts the job of a work folder and returns when its process runs. A second job of a folder waits for the
   * first.
   * @returns the process, which leads a session of its own, if it is on this host
   */
  launch(folder: string): Promise<number | undefined>;
}

/** The trainer could not be started; a later attempt may succeed. */
export class TrainerUnavailable extends Error {
  override readonly name = 'TrainerUnavailable';
}

/**
 * Starts a new process for each job, in a session of its own, so that it outlives the worker.
 * @param variables that the process gets besides those of Python's processes
 */
export function processLauncher(python: Python, variables: Record<string, string>): Launcher {
  return {
    async launch(folder) {
      const { O_WRONLY, O_APPEND, O_CREAT } = constants;
      await using log = await openPlainFile(join(folder, 'log.txt'), O_WRONLY | O_APPEND | O_CREAT);
      const child = python.spawn(['-m', 'genenv_trainer', 'job', folder], {
        variables,
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      });
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', (cause) =>
          reject(
            new TrainerUnavailable(
              `cannot start the trainer with ${python.path}: ${cause.message}; ` +
                `run the set-up (npm start) or set GENENV_PYTHON`,
              { cause },
            ),
          ),
        );
      });
      child.unref();
      return child.pid;
    },
  };
}

const answerSchema = z.union([z.object({ pid: z.int().min(2) }), z.object({ error: z.string() })]);

/**
 * Forks jobs from a resident parent that has imported torch already: milliseconds a job instead of seconds.
 */
export function residentLauncher(socket: string, timeoutMs = 60_000): Launcher {
  return {
    async launch(folder) {
      const line = await askResident(socket, JSON.stringify({ folder }), timeoutMs);
      const answer = answerSchema.parse(JSON.parse(line));
      if ('error' in answer)
        throw new TrainerUnavailable(`the resident trainer at ${socket} refused ${folder}: ${answer.error}`);
      return answer.pid;
    },
  };
}

/** Sends a line to the resident trainer. @returns the line that it answers */
function askResident(socket: string, line: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const unavailable = (problem: string, cause?: unknown): void => {
      connection.destroy();
      reject(
        new TrainerUnavailable(
          `the resident trainer at ${socket} ${problem}; ` +
            `start it with \`genenv up\`, or choose trainer.launcher "process"`,
          { cause },
        ),
      );
    };
    let answer = '';
    const connection = createConnection(socket, () => connection.write(`${line}\n`));
    connection
      .setEncoding('utf8')
      .setTimeout(timeoutMs, () => unavailable(`did not answer in ${timeoutMs} ms`));
    connection.on('data', (part: string) => {
      answer += part;
      if (!answer.includes('\n')) return;
      connection.end();
      resolve(answer.slice(0, answer.indexOf('\n')));
    });
    connection.on('error', (cause) => unavailable(`is not there (${cause.message})`, cause));
    connection.on('close', () => unavailable('closed the connection without an answer'));
  });
}
