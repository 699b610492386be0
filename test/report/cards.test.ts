import { expect, test } from 'vitest';
import { cards } from '../../src/report/cards.ts';
import { findings } from '../../src/report/findings.ts';
import { loadRun } from '../../src/report/load-run.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { makeRun } from './make-run.ts';

test('a run of any number of events has its wall time', async () => {
  const { home, runId } = await makeRun({ home: await memoryFolder(), epochs: 2 });
  const run = await loadRun({ home, runId });
  const events = Array.from({ length: 300_000 }, () => run.events[0]!);
  const [few, many] = [run, { ...run, events: [...run.events, ...events] }].map((shown) =>
    cards(shown, findings(shown.rows, { hasDifficulty: true }), 'steps').find(
      ({ label }) => label === 'Wall time',
    ),
  );
  expect(many).toEqual(few);
});
