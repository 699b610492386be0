/** Commits that somebody else than the workflow of the run asks for. */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { rewindFolder } from '../../src/runs/rewind.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import type { CommitInput } from '../../src/types/activity-inputs.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

/** What the workflow asks to commit after the phases of the next epoch. */
async function nextCommit({ activities, plan }: SomeRun, last: CommittedEpoch): Promise<CommitInput> {
  let commit: CommitInput | undefined;
  const commitEpoch = (input: CommitInput): Promise<CommittedEpoch> => {
    commit = input;
    return Promise.resolve(last);
  };
  await plainEpoch({ ...activities, commitEpoch }, plan, last);
  return commit!;
}

const ledger = ({ dependencies, plan }: SomeRun): Promise<string> =>
  readFile(dependencies.runFolder(plan.run.id).ledgerFile, 'utf8');

it('a line is committed only as the phases of its epoch recorded it', async () => {
  const run = await someRun();
  const { activities, prepared, dependencies } = run;
  const first = await run.epochs(1);
  const commit = await nextCommit(run, first);
  const { experiment } = commit.run;
  const before = await ledger(run);
  const easier = await dependencies.store.putJson({
    ...(await dependencies.store.json<object>(experiment)),
    seed: 77,
  });
  const verdicts = await dependencies.store.putRecords([{ task_id: 'held-out-000', reward: 1 }]);
  const forgeries: [string, CommitInput][] = [
    ['next', { ...commit, next: { ...commit.next, agent: prepared.state.agent } }],
    ['next', { ...commit, next: { ...commit.next, tokens: 0 } }],
    ['outputs', { ...commit, outputs: { ...commit.outputs, verdicts: [verdicts] } }],
    ['metrics', { ...commit, metrics: [...commit.metrics, { 'env/success_rate': 1 }] }],
    ['notes', { ...commit, notes: ['all is well'] }],
    ['run', { ...commit, run: { ...commit.run, experiment: easier } }],
  ];
  for (const [field, forged] of forgeries) {
    const committing = activities.commitEpoch(forged);
    await expect(committing, field).rejects.toThrow(InvalidArtifact);
    await expect(committing).rejects.toThrow(`epoch 2 is not committed: ${field} is not`);
  }
  expect(await ledger(run)).toBe(before);
  const { line } = await activities.commitEpoch(commit);
  expect((await activities.commitEpoch(commit)).line).toBe(line);
});

it('an epoch whose phases did not run is not committed, and neither is the preparation', async () => {
  const run = await someRun();
  const commit = await nextCommit(run, run.prepared);
  await expect(run.activities.commitEpoch({ ...commit, epoch: 2 })).rejects.toThrow(
    'the line of epoch 1 is gone',
  );
  await rm(`${run.home}/store/keys/some-run/0001/draw`, { recursive: true });
  const withoutDraw = run.activities.commitEpoch(commit);
  await expect(withoutDraw).rejects.toThrow(InvalidArtifact);
  await expect(withoutDraw).rejects.toThrow('no result of the phase draw is recorded');

  // The same run under another id, for which nobody has prepared anything.
  const plan = await run.activities.parseExperiment({
    id: 'another-run',
    file: await run.dependencies.store.json(run.plan.run.experiment),
  });
  const preparation: CommitInput = {
    ...commit,
    run: plan.run,
    epoch: 0,
    next: run.prepared.state,
    outputs: { tasks: null, traces: [], rewards: null, scores: null, decisions: null, verdicts: [] },
  };
  await expect(run.activities.commitEpoch(preparation)).rejects.toThrow('no result of the phase prepare');
  expect(existsSync(run.dependencies.runFolder('another-run').ledgerFile)).toBe(false);
});

it('an object that a phase recorded and that is gone stops the commit, and the phase runs again', async () => {
  const run = await someRun();
  const commit = await nextCommit(run, run.prepared);
  await rm(run.dependencies.store.path(commit.outputs.scores!));
  await expect(run.activities.commitEpoch(commit)).rejects.toThrow('no result of the phase reward');
  expect((await plainEpoch(run.activities, run.plan, run.prepared)).epoch).toBe(1);
});

it('a line that a rewind cuts while it is committed again is not written with other content', async () => {
  const run = await someRun();
  const { dependencies, activities, home, prepared } = run;
  const commit = await nextCommit(run, prepared);
  await activities.commitEpoch(commit);
  const folder = dependencies.runFolder(run.plan.run.id);
  const forged = { ...commit, notes: ['all is well'] };
  // Reading the experiment is the first step after the ledger was read.
  const readJson = dependencies.store.json.bind(dependencies.store);
  vi.spyOn(dependencies.store, 'json').mockImplementationOnce(async (ref) => {
    await rewindFolder(folder, home, { epoch: 0, set: {} });
    return readJson(ref);
  });
  await expect(activities.commitEpoch(forged)).rejects.toThrow(
    'epoch 1 is not committed: the ledger has changed since it was read',
  );
  expect((await ledger(run)).trim().split('\n')).toHaveLength(1);
  await expect(activities.commitEpoch(forged)).rejects.toThrow('epoch 1 is not committed: notes is not');
  expect((await activities.commitEpoch(commit)).epoch).toBe(1);
});
