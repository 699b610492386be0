/** Runs programs of the system that answer at once, such as those of a scheduler. No shell reads their words. */
import { execFile } from 'node:child_process';

export interface ProgramEnd {
  /** Null if it was ended, or could not be started. */
  code: number | null;
  stdout: string;
  /** What it said, or why it could not be started. */
  stderr: string;
}

const MAX_OUTPUT_BYTES = 10_000_000;

/** Runs a program to its end. It never throws: whoever asks decides what a failure means. */
export function runProgram(
  command: string,
  args: readonly string[],
  { env, timeoutMs }: { env: Record<string, string>; timeoutMs: number },
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const options = { env, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES, killSignal: 'SIGKILL' } as const;
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : (child.exitCode ?? null);
      const problem = error?.killed === true ? `${command} timed out after ${timeoutMs} ms` : error?.message;
      resolve({ code, stdout, stderr: stderr || (problem ?? '') });
    });
    child.stdin?.on('error', () => undefined).end();
  });
}
