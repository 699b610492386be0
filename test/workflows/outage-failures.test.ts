import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/errors.ts';
import { toFailure } from '../../src/worker/activity-interceptor.ts';
import { outageOf } from '../../src/workflows/outage-failures.ts';

type RetryState = ConstructorParameters<typeof ActivityFailure>[3];
const failed = (cause: Error, retryState: RetryState = 'NON_RETRYABLE_FAILURE') =>
  new ActivityFailure('activity failed', 'rollOut', '1', retryState, 'worker', cause);

describe('a failure of an activity', () => {
  const details = { server: 'http://a/v1', reason: 'connection refused', progressed: true };

  it('is an outage if a model server was away, with what the worker says of it', () => {
    const failure = ApplicationFailure.create({ type: 'ModelUnavailable', details: [details] });
    expect(outageOf(failed(failure))).toEqual({ type: 'ModelUnavailable', details });
  });

  it('is an outage if an older worker, which names no server, met one that was away', () => {
    const failure = ApplicationFailure.create({ type: 'ModelNotServed', message: 'x'.repeat(300) });
    expect(outageOf(failed(failure))).toEqual({
      type: 'ModelNotServed',
      details: { server: 'the model server', reason: 'x'.repeat(200), progressed: false },
    });
  });

  it('is final if it was retried until its attempts were used up, as in histories of older workflows', () => {
    const failure = ApplicationFailure.create({ type: 'ModelUnavailable', message: 'connection refused' });
    expect(outageOf(failed(failure, 'MAXIMUM_ATTEMPTS_REACHED'))).toBeUndefined();
  });

  it('is an outage if the store was away: a full disk, or a bucket', () => {
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const failure = toFailure(new StoreUnavailable('/srv/store', 'Free space.', full)) as ApplicationFailure;
    const reason = 'Cannot use /srv/store: ENOSPC. Free space.';
    const details = { server: 'the store', reason, progressed: false };
    expect(outageOf(failed(failure))).toEqual({ type: 'StoreUnavailable', details });
    // Of an older worker, which gives no details: for a workflow of today, and in the history of an older one.
    const plain = ApplicationFailure.create({ type: 'StoreUnavailable', message: 'disk full' });
    expect(outageOf(failed(plain))).toEqual({
      type: 'StoreUnavailable',
      details: { server: 'the store', reason: 'disk full', progressed: false },
    });
    expect(outageOf(failed(plain, 'MAXIMUM_ATTEMPTS_REACHED'))).toBeUndefined();
  });

  it('is none for any other reason', () => {
    expect(outageOf(failed(ApplicationFailure.create({ type: 'RequestRefused' })))).toBeUndefined();
    expect(outageOf(new Error('ModelUnavailable'))).toBeUndefined();
  });
});
