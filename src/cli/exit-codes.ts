/** What `genenv` exits with; `genenv --help` prints the meanings. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  badInput: 2,
  stopped: 3,
  busy: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodeMeanings: Record<ExitCode, string> = {
  0: 'done (for run: the experiment is finished)',
  1: 'failed',
  2: 'bad input: an argument or the experiment file; nothing was started or written',
  3: 'the experiment was stopped or cancelled before its last epoch; the same command goes on',
  4: 'another process uses the stack of this home folder',
  130: 'interrupted; the same command goes on',
};

/** An error whose message is all that a person needs; no stack trace is shown. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}
