import { describe, expect, it } from 'vitest';
import { updateNote } from '../../src/training/policy-update.ts';
import type { JobResult } from '../../src/types/training-job.ts';

const done: JobResult = {
  format: 1,
  input_hash: 'a'.repeat(64),
  steps: 3,
  steps_done: 3,
  skipped: null,
  skipped_steps: {},
  kl: { before: 0.1, after: 0.2, rule: 'none' },
  metrics: {},
  output: { checkpoint: 'b', trainer_state: 'c' },
  groups: [],
};
const fullBudget = { requested: 4096, used: 4096 };

describe('noteOf', () => {
  it('says nothing of an update like any other', () =>
    expect(updateNote('agent', done, fullBudget)).toBeNull());

  it.each([
    [
      { steps_done: 0, skipped: 'not_finite', skipped_steps: { not_finite: 3 } },
      'agent: no update (not_finite)',
    ],
    [{ steps_done: 0, skipped: 'empty_batch' }, 'agent: no update (empty_batch)'],
    [
      {
        steps_done: 0,
        skipped: 'too_few_informative_groups',
        skipped_steps: { too_few_informative_groups: 3 },
      },
      'agent: no update (too_few_informative_groups)',
    ],
    [{ steps_done: 2, skipped_steps: { not_finite: 1 } }, 'agent: 1 of 3 steps changed nothing (not_finite)'],
    [
      { kl: { before: 1.5, after: 1.25, rule: 'pull_back' } },
      'agent: KL 1.500 above its cap, pulled back to 1.250',
    ],
    [
      { steps_done: 1, skipped_steps: { kl_cap: 1 }, kl: { before: 0.1, after: 0.1, rule: 'restored' } },
      'agent: KL above twice its cap, the last step below it was kept',
    ],
  ] satisfies [Partial<JobResult>, string][])('%o: %s', (result, note) =>
    expect(updateNote('agent', { ...done, ...result }, fullBudget)).toBe(note),
  );

  it('says that memory ran out, beside all else', () =>
    expect(
      updateNote(
        'environment',
        { ...done, steps_done: 2, skipped_steps: { not_finite: 1 } },
        { requested: 4096, used: 1024 },
      ),
    ).toBe(
      'environment: 1 of 3 steps changed nothing (not_finite); out of memory, went on with 1024 instead of 4096 tokens a micro-batch',
    ));
});
