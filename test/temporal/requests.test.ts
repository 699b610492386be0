import { expect, test } from 'vitest';
import { RequestReader } from '../../src/temporal/requests.ts';
import type { RunRequest } from '../../src/temporal/requests.ts';

type Service = ConstructorParameters<typeof RequestReader>[0];

const eventTime = { seconds: 1, nanos: 0 };
const update = (eventId: number, name: string) => ({
  eventId,
  eventTime,
  workflowExecutionUpdateAcceptedEventAttributes: {
    acceptedRequest: { input: { name }, meta: { identity: 'ann' } },
  },
});
const started = (continuedExecutionRunId: string) => ({
  eventId: 1,
  eventTime,
  workflowExecutionStartedEventAttributes: { continuedExecutionRunId, identity: 'ann' },
});

/** A reader of histories by run id, whose reading fails with the error that `failures` has for a run. */
function readerOf(histories: Record<string, { eventId: number }[]>, failures: Record<string, Error> = {}) {
  const service = {
    getWorkflowExecutionHistoryReverse: ({ execution: { runId } }: { execution: { runId: string } }) => {
      const failure = failures[runId];
      return failure === undefined
        ? Promise.resolve({
            history: { events: histories[runId]!.toReversed() },
            nextPageToken: new Uint8Array(),
          })
        : Promise.reject(failure);
    },
  } as unknown as Service;
  const reader = new RequestReader(service, 'default');
  const namesOf = async (runId: string): Promise<string[]> =>
    (await reader.readNew({ workflowId: 'run', runId })).map(({ request }) => request);
  return { reader, namesOf };
}

const refused = (code: number): Error => Object.assign(new Error('refused'), { code });

test('requests are read once, and again if what was to be done with them failed', async () => {
  const history = [update(3, 'pause'), update(6, 'resume')];
  const { reader, namesOf } = readerOf({ a: history });
  const full = (requests: RunRequest[]): Promise<void> =>
    Promise.reject(new Error(`no space for ${requests.length}`));
  await expect(reader.readNew({ workflowId: 'run', runId: 'a' }, full)).rejects.toThrow('no space for 2');
  expect(await namesOf('a')).toEqual(['pause', 'resume']);
  expect(await namesOf('a')).toEqual([]);
  history.push(update(9, 'retune'));
  expect(await namesOf('a')).toEqual(['retune']);
});

test('those to the run before are read again while Temporal is away, and given up if it has removed them', async () => {
  const failures: Record<string, Error> = { a: refused(14) };
  const histories = { a: [update(3, 'pause')], b: [started('a'), update(4, 'resume')] };
  const { namesOf } = readerOf(histories, failures);
  await expect(namesOf('b')).rejects.toThrow('refused');
  delete failures.a;
  expect(await namesOf('b')).toEqual(['pause', 'resume']);
  expect(await readerOf(histories, { a: refused(5) }).namesOf('b')).toEqual(['resume']);
});
