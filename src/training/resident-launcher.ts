import { createConnection } from 'node:net';
import { z } from 'zod';
import type { Python } from '../processes/python.ts';
import { TrainerUnavailable } from './launcher.ts';
import type { Launcher } from './launcher.ts';
import { LocalLauncher } from './local-launcher.ts';

const answerSchema = z.union([z.object({ pid: z.int().min(2) }), z.object({ error: z.string() })]);

/**
 * Forks jobs from a resident parent that has imported torch already: milliseconds a job instead of seconds.
 */
export function residentLauncher(python: Python, socket: string, timeoutMs = 60_000): Launcher {
  return new LocalLauncher('resident', python, async ({ folder }) => {
    const line = await askResident(socket, JSON.stringify({ folder }), timeoutMs);
    const answer = answerSchema.parse(JSON.parse(line));
    if ('error' in answer)
      throw new TrainerUnavailable(`the resident trainer at ${socket} refused ${folder}: ${answer.error}`);
    return answer.pid;
  });
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
