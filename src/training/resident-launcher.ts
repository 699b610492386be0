import { createConnection } from 'node:net';
import { z } from 'zod';
import { TrainerUnavailable } from './launcher.ts';
import type { Launcher } from './launcher.ts';

const answerSchema = z.union([z.object({ pid: z.int() }), z.object({ error: z.string() })]);

/** Jobs forked from a resident parent that has imported torch already: milliseconds instead of seconds a job. */
export function residentLauncher(socket: string, timeoutMs = 60_000): Launcher {
  return {
    async launch(folder) {
      const answer = answerSchema.parse(JSON.parse(await ask(socket, JSON.stringify({ folder }), timeoutMs)));
      if ('error' in answer)
        throw new TrainerUnavailable(`the resident trainer at ${socket} refused ${folder}: ${answer.error}`);
    },
  };
}

function ask(socket: string, line: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const unavailable = (problem: string, cause?: unknown): void => {
      connection.destroy();
      reject(
        new TrainerUnavailable(
          `the resident trainer at ${socket} ${problem}; start it with \`genenv up\`, or choose trainer.launcher "process"`,
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
