import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { explainFailure } from '../../src/cli/lib/workflow-failure.ts';
import { OutageLines } from '../../src/cli/lib/outage-lines.ts';
import {
  bandScale,
  bar,
  ProgressLines,
  progressScreen,
  sparkline,
} from '../../src/cli/lib/progress-display.ts';
import { byteText, durationText } from '../../src/cli/lib/text.ts';
import type { Progress } from '../../src/types/activity-types.ts';

const makeProgress = (changes: Partial<Progress> = {}): Progress => ({
  experiment: 'laptop',
  arm: 'genenv-tuned',
  status: 'running',
  epoch: 12,
  epochs: 90,
  phase: 'roll out',
  rolloutsDone: 128,
  rolloutsPlanned: 256,
  successRate: 0.52,
  recentSuccessRates: [0.1, 0.44, 0.52],
  band: [0.4, 0.6],
  heldOut: 0.31,
  validTasks: 0.75,
  wellFormed: 0.94,
  environmentReward: 0.9,
  difficulty: 5.24,
  epochSeconds: 2,
  notes: [],
  waiting: null,
  ...changes,
});

describe('plain lines', () => {
  const lines = (...shown: Progress[]): string[] => {
    const printed: string[] = [];
    const display = new ProgressLines((line) => printed.push(line));
    for (const progress of shown) display.show(progress);
    return printed;
  };

  test('each phase of the preparation once, then one line for each epoch', () => {
    const preparing = makeProgress({
      status: 'preparing',
      epoch: 0,
      phase: 'warm up',
      successRate: null,
      recentSuccessRates: [],
    });
    const first = makeProgress({ epoch: 1, successRate: null, recentSuccessRates: [] });
    const printed = lines(
      preparing,
      preparing,
      { ...preparing, phase: 'evaluate' },
      first,
      first,
      makeProgress({ epoch: 2, recentSuccessRates: [0.52] }),
      makeProgress({ epoch: 2, recentSuccessRates: [0.52] }),
    );
    expect(printed).toEqual([
      'preparing: warm up',
      'preparing: evaluate',
      'epoch  1/90  success 0.52 (band 0.4 to 0.6)  difficulty 5.2  R_env 0.90  held-out 0.31  valid tasks 0.75  well-formed answers 0.94  2.0 s an epoch  about 2 min 58 s to go',
    ]);
  });

  test('each note once, though a run keeps only its last ones', () => {
    const all = ['a', 'b', 'b', 'c', 'd', 'd'];
    const printed = lines(
      ...[1, 2, 3, 4, 6].map((count) => makeProgress({ notes: all.slice(0, count).slice(-3) })),
    );
    expect(printed.filter((line) => line.startsWith('note: '))).toEqual(all.map((note) => `note: ${note}`));
  });

  test('epochs that ended between two looks have their lines too, and the last one', () => {
    const printed = lines(
      makeProgress({ epoch: 1, recentSuccessRates: [] }),
      makeProgress({ epoch: 4 }),
      makeProgress({
        epoch: 90,
        status: 'finished',
        successRate: 0.5,
        recentSuccessRates: Array.from({ length: 50 }, () => 0.5),
      }),
    );
    expect(printed.slice(0, 3).map((line) => line.slice(0, 45))).toEqual([
      'epoch  1/90  success 0.10 (band 0.4 to 0.6)',
      'epoch  2/90  success 0.44 (band 0.4 to 0.6)',
      'epoch  3/90  success 0.52 (band 0.4 to 0.6)  ',
    ]);
    expect(printed.at(-1)).toMatch(/^epoch 90\/90 {2}success 0\.50 .*an epoch$/);
    expect(printed).toHaveLength(90);
  });

  test('a run that is followed from its middle starts with its last epoch', () => {
    expect(lines(makeProgress())).toHaveLength(1);
    expect(lines(makeProgress())[0]).toMatch(/^epoch 11\/90 /);
  });

  test('an epoch without a valid task says so, and does not show the rate of the one before', () => {
    const printed = lines(
      makeProgress({ epoch: 2, recentSuccessRates: [0.4], successRate: 0.4 }),
      makeProgress({
        epoch: 3,
        recentSuccessRates: [0.4],
        successRate: null,
        validTasks: 0,
        wellFormed: null,
      }),
    );
    expect(printed[1]).toMatch(
      /^epoch {2}2\/90 {2}success –, no task was valid .* valid tasks 0\.00 {2}2\.0 s/,
    );
  });

  test('what others ask of it, once', () => {
    expect(
      lines(
        makeProgress(),
        makeProgress({ status: 'paused' }),
        makeProgress({ status: 'paused' }),
        makeProgress(),
        makeProgress({ status: 'stopping' }),
        makeProgress({ epoch: 12, status: 'stopped' }),
      ).filter((line) => !line.startsWith('epoch')),
    ).toEqual([
      'paused; `npx genenv resume` with its id continues it',
      'continues',
      'stops after the epoch under way',
    ]);
    expect(lines(makeProgress(), makeProgress({ epoch: 12, status: 'stopped' })).at(-1)).toMatch(
      /^epoch 12\/90 .*2\.0 s an epoch$/,
    );
  });

  test('a wait for a model server: its beginning, every ten minutes, its end, and no bare phase', () => {
    const printed: string[] = [];
    const outages = new OutageLines((line) => printed.push(line));
    const since = '2026-11-22T15:58:00.000Z';
    const outage = { server: 'http://x/v1', reason: 'connection refused', tries: 1, since };
    const at = (seconds: number): Date => new Date(Date.parse(since) + seconds * 1000);
    outages.show(outage, at(1));
    outages.show(null, at(1.5));
    for (let second = 2; second < 1500; second++)
      outages.show(
        { ...outage, tries: second, reason: second < 300 ? outage.reason : 'no answer' },
        at(second),
      );
    outages.show(null, at(1500));
    outages.show(null, at(1501));
    expect(printed).toEqual([
      'waiting for http://x/v1: connection refused, 2 tries, since 15:58 UTC',
      'waiting for http://x/v1: no answer, 300 tries, since 15:58 UTC',
      'waiting for http://x/v1: no answer, 900 tries, since 15:58 UTC',
      'no longer waiting for http://x/v1, after 25 min 00 s',
    ]);
    const waiting = { ...outage, tries: 3 };
    const preparing = makeProgress({ status: 'preparing', phase: 'gate; waiting for http://x/v1', waiting });
    expect(lines(preparing)).toEqual([
      expect.stringMatching(/^waiting for http:\/\/x\/v1: connection refused/),
    ]);
  });

  test('notes once', () => {
    expect(
      lines(
        makeProgress({ notes: ['kl cap'] }),
        makeProgress({ notes: ['kl cap'] }),
        makeProgress({ notes: ['kl cap', 'no step'] }),
      ).filter((line) => line.startsWith('note')),
    ).toEqual(['note: kl cap', 'note: no step']);
  });
});

test('with dynamic sampling the round is named, and rollouts are those of the rounds so far', () => {
  const phaseLine = (changes: Partial<Progress>): string | undefined =>
    progressScreen(makeProgress({ round: { number: 2, max: 8 }, rolloutsPlanned: 512, ...changes }))
      .split('\n')
      .find((line) => line.startsWith('phase'));
  expect(phaseLine({ rolloutsDone: 300 })).toBe(
    'phase        roll out, round 2 of at most 8, 300/512 rollouts',
  );
  expect(phaseLine({ phase: 'epoch 3: filter' })).toBe('phase        epoch 3: filter, round 2 of at most 8');
  expect(phaseLine({ phase: 'epoch 3: train' })).toBe('phase        epoch 3: train');
});

test('the picture for a terminal', () => {
  expect(progressScreen(makeProgress()).split('\n')).toEqual([
    '',
    'laptop (genenv-tuned): running',
    'epoch        12/90  ███░░░░░░░░░░░░░░░░░░░░░░░░░  about 2 min 38 s to go',
    'phase        roll out, 128/256 rollouts',
    'success rate 0.52  0 ················[····●··]················ 1  in the band',
    'last 5       0.35    ▁▄▅',
    'held-out     0.31    difficulty 5.2    R_env 0.90',
    'form         valid tasks 0.75    well-formed answers 0.94',
  ]);
  expect(progressScreen(makeProgress({ status: 'preparing', phase: 'warm up' })).split('\n')).toEqual([
    '',
    'laptop (genenv-tuned): preparing',
    'warm up',
  ]);
  expect(progressScreen(makeProgress({ successRate: null, recentSuccessRates: [] }))).toContain(
    'success rate –',
  );
});

test('scales and units', () => {
  expect(bandScale(0, [0.4, 0.6], 11)).toBe('●···[·]····');
  expect(bandScale(1.5, [0, 1], 5)).toBe('[···●');
  expect(sparkline([0, 0.5, 1])).toBe('▁▅█');
  expect(bar(0.5, 4)).toBe('██░░');
  expect([byteText(0), byteText(999), byteText(1_500), byteText(2_000_000_000)]).toEqual([
    '0 B',
    '999 B',
    '1.5 kB',
    '2.0 GB',
  ]);
  expect([
    durationText(1.25),
    durationText(59),
    durationText(61),
    durationText(119.6),
    durationText(59.6),
  ]).toEqual(['1.3 s', '59 s', '1 min 01 s', '2 min 00 s', '1 min 00 s']);
  expect(durationText(5_000)).toBe('1 h 23 min');
});

describe('the failure of a workflow', () => {
  const failed = (cause: Error) =>
    explainFailure(new WorkflowFailedError('failed', cause, 'NON_RETRYABLE_FAILURE'), 'laptop');
  const inActivity = (root: Error): Error =>
    Object.assign(new Error('Activity task failed'), { cause: root });

  test('bad input keeps its message and exits 2', () => {
    const { message, exitCode } = failed(
      inActivity(
        ApplicationFailure.nonRetryable('experiment: epochs: got 0; expected 1 or more', 'InvalidConfig'),
      ),
    );
    expect({ message, exitCode }).toEqual({
      message: 'experiment: epochs: got 0; expected 1 or more',
      exitCode: 2,
    });
  });
  test('anything else names its root cause and exits 1', () => {
    const { message, exitCode } = failed(
      inActivity(ApplicationFailure.nonRetryable('CUDA out of memory at step 3', 'OutOfMemory')),
    );
    expect(message).toContain('laptop failed: OutOfMemory: CUDA out of memory at step 3\n');
    expect(exitCode).toBe(1);
  });
  test.each([new CancelledFailure('cancelled'), new TerminatedFailure('terminated')])(
    'a deliberate end is none: %s',
    (cause) => {
      const { message, exitCode } = failed(cause);
      expect(message).toMatch(/^laptop was (cancelled|terminated); the same command resumes it/);
      expect(exitCode).toBe(3);
    },
  );
});
