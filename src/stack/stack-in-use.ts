import type { StackPaths } from './stack-paths.ts';
import type { StackRecord } from './stack-record.ts';

/** Another process looks after the stack of this home. */
export class StackInUse extends Error {
  override readonly name = 'StackInUse';
  readonly record: StackRecord;

  constructor({ home }: StackPaths, record: StackRecord) {
    const who =
      record.owner === null
        ? 'another process'
        : `\`genenv ${record.owner.command}\` (process ${record.owner.pid})`;
    super(`${who} runs the stack of ${home}; wait until it has ended, or set GENENV_HOME to another folder`);
    this.record = record;
  }
}
