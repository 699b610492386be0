import { NamespaceNotFoundError, ServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { explainError } from '../../src/cli/lib/explain-error.ts';
import { childEnvironment } from '../../src/processes/child-environment.ts';
import { readQuotas } from '../../src/runs/quotas.ts';
import { InvalidArtifact, LedgerConflict } from '../../src/store/errors.ts';

const thrownBy = (call: () => unknown): unknown => {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

/** As the client reports what gRPC has said of a call. */
const failedCall = (code: number, name: string): ServiceError =>
  new ServiceError('Failed to describe', {
    cause: Object.assign(new Error(`${code} ${name}`), { code, details: name, metadata: {} }),
  });

test.each([
  [new InvalidArtifact('/store/x', 'missing'), 1, /^Invalid artifact \/store\/x: missing\. [^\n]*$/],
  [new LedgerConflict('epoch 3'), 1, /^epoch 3$/],
  [failedCall(14, 'UNAVAILABLE'), 1, /^Temporal has not answered: Failed to describe: 14 UNAVAILABLE$/],
  [failedCall(4, 'DEADLINE_EXCEEDED'), 1, /^Temporal has not answered: Failed to describe: 4 DEADLINE/],
  [failedCall(7, 'PERMISSION_DENIED'), 1, /^Temporal refused: Failed to describe: 7 PERMISSION_DENIED$/],
  [failedCall(3, 'INVALID_ARGUMENT').cause, 1, /^Temporal refused: 3 INVALID_ARGUMENT$/],
  [new NamespaceNotFoundError('x'), 1, /^Temporal refused: [^\n]*$/],
  [thrownBy(() => childEnvironment({ GENENV_CHILD_ENV: 'a b' })), 2, /^GENENV_CHILD_ENV: got "a b"[^\n]*$/],
  [
    thrownBy(() => readQuotas({ GENENV_MAX_TOKENS_PER_RUN: 'x' })),
    2,
    /^GENENV_MAX_TOKENS_PER_RUN: got "x"[^\n]*$/,
  ],
  [new TypeError('a bug'), 1, /^TypeError: a bug\n\s+at /],
])('of %s a command says what a person can act on', async (error, code, text) => {
  expect(await explainError(error)).toEqual({ code, text: expect.stringMatching(text) as string });
});
