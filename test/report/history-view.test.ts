import { expect, test } from 'vitest';
import { historyView } from '../../src/report/history-view.ts';
import type { ReportEvent } from '../../src/report/run-data.ts';

const historyOf = (events: ReportEvent[]) => historyView({ events, rows: [], retunes: [] });
const workflow = 'some/epoch-0015';

test('a phase whose worker was stopped has a retry, with the reason', () => {
  const { summary, attempts } = historyOf([
    { at: '2026-11-21T09:00:00.000Z', type: 'worker-stopped', phase: 'trainAgent', attempt: 1, workflow },
  ]);
  expect(summary).toBe('Never resumed; one retry of a phase.');
  expect(attempts).toEqual([
    {
      at: '2026-11-21 09:00:00 UTC',
      type: 'worker-stopped',
      tone: 'info',
      epoch: 15,
      text:
        'epoch 15, trainAgent, attempt 1: its worker was stopped, and another attempt began when a worker ' +
        'was available',
    },
  ]);
});

test('an attempt of an older version says that no reason is recorded', () => {
  const { attempts } = historyOf([{ at: '', type: 'attempt', phase: 'publishPolicy', attempt: 2, workflow }]);
  expect(attempts[0]?.text).toBe('epoch 15, publishPolicy, attempt 2: no reason is recorded');
});

test('an outage of a model server is no retry', () => {
  const { summary, attempts } = historyOf([{ at: '', type: 'model-unavailable', phase: 'rollOut' }]);
  expect(summary).toBe('Never resumed; no phase was tried again.');
  expect(attempts).toHaveLength(1);
});
