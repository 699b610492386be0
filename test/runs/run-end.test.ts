import { describe, expect, test } from 'vitest';
import { loadRun } from '../../src/report/load-run.ts';
import { stateOf } from '../../src/report/run-view.ts';
import { earlyEnd, runEnd } from '../../src/runs/run-end.ts';
import { readRunOverview } from '../../src/runs/run-overview.ts';
import { Feed } from '../../src/tracking/feed.ts';
import { someExperiment } from '../report/make-run.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from '../tracking/growing-run.ts';

const ended = (outcome: string, reason?: string) => ({
  type: 'ended',
  outcome,
  ...(reason !== undefined && { reason }),
});

describe('a run', () => {
  const settings = { epochs: 9, maxTokens: 100 };

  test.each([
    ['with all epochs is finished', { epoch: 9, tokens: 5 }, undefined, 'finished'],
    [
      'at its own cap of tokens is finished',
      { epoch: 3, tokens: 100 },
      ended('token cap reached'),
      'finished',
    ],
    ['that failed after its cap is finished', { epoch: 3, tokens: 100 }, ended('failed', 'x'), 'finished'],
    ['at a quota is out of it', { epoch: 3, tokens: 5 }, ended('token cap reached', 'disk'), 'out of quota'],
    ['that failed', { epoch: 3, tokens: 5 }, ended('failed', 'x'), 'failed'],
    [
      'that was cancelled before its first epoch',
      { epoch: null, tokens: 0 },
      ended('cancelled'),
      'cancelled',
    ],
    ['whose ledger has lost its last epochs', { epoch: 3, tokens: 5 }, ended('finished'), null],
    ['that was resumed', { epoch: 3, tokens: 5 }, { type: 'resumed' }, null],
  ] as const)('%s', (_, progress, turn, end) => {
    expect(runEnd(settings, progress, turn)).toBe(end);
  });

  test.each([
    [ended('finished'), 'finished'],
    [ended('token cap reached'), 'finished'],
    [ended('token cap reached', 'disk'), 'out of quota'],
    [{ type: 'resumed' }, null],
  ] as const)('of unreadable settings, after %j', (turn, end) => {
    expect(runEnd(null, { epoch: 3, tokens: 0 }, turn)).toBe(end);
  });
});

test('a run with epochs left has not ended by its own cap', () => {
  expect(earlyEnd(ended('token cap reached'))).toBeNull();
});

test('a run at its own cap of tokens is finished for commands, pages and trackers alike', async () => {
  const run = await GrowingRun.start(await memoryFolder());
  await run.folder.writeExperiment({ ...someExperiment(9), maxTokens: 200 });
  await run.commitTo(2);
  await run.end('token cap reached');
  const { home, id: runId } = run;
  expect((await readRunOverview(run.folder))?.finished).toBe(true);
  expect(stateOf(await loadRun({ home, runId })).text).toBe('finished');
  expect((await new Feed({ home, runId, name: 'home' }).read(true))?.outcome).toBe('finished');
});
