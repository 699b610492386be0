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

test.each([
  [new InvalidArtifact('/store/x', 'missing'), 1, /^Invalid artifact \/store\/x: missing\. [^\n]*$/],
  [new LedgerConflict('epoch 3'), 1, /^epoch 3$/],
  [
    new ServiceError('Failed to describe', { cause: new Error('14 UNAVAILABLE: refused') }),
    1,
    /^Temporal has not answered: Failed to describe: 14 UNAVAILABLE: refused$/,
  ],
  [new NamespaceNotFoundError('x'), 1, /^Temporal has not answered: [^\n]*$/],
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
