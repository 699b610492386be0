/** A comparison that is begun in one home folder and continues in another, from a file of its finished runs. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createComparisonActivities } from '../../src/activities/index.ts';
import { carryRuns, saveRuns } from '../../src/cli/lib/carried-runs.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import type { Experiment } from '../../src/config/experiment.ts';
import type { ArmRun, ProbeRecord } from '../../src/types/comparison-inputs.ts';
import { begin, plainEpoch } from '../../test-support/plain-epochs.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { someRun } from './some-run.ts';

const file = tinyComparison({ probes: null });
const comparison = parseComparison(file);
const { name: id } = comparison;
const nothing = { sha256: '0'.repeat(64), uri: `objects/00/${'0'.repeat(64)}.jsonl`, bytes: 0, count: 0 };
const runNames = (runs: readonly ArmRun[]): string[] => runs.map(({ arm, seed }) => `${arm} ${seed}`);

/** A home folder with a comparison in it, whose runs go in a plain loop. */
async function someHome() {
  const { home, dependencies, activities } = await someRun({ world: comparison.arms.tuned!.world });
  const own = createComparisonActivities(dependencies);
  const printed: string[] = [];
  const context = {
    env: { GENENV_HOME: home },
    print: (line: string) => printed.push(line),
    warn: () => undefined,
    terminal: null,
  };
  return {
    home,
    printed,
    plan: async () => (await own.parseComparison({ id, file })).runs,
    planOf: (changed: object) => own.parseComparison({ id, file: changed }),
    finish: async (runs: readonly ArmRun[]) => {
      for (const run of runs) {
        const { plan, prepared } = await begin(activities, run.id, await own.armExperiment({ id, run }));
        let committed = prepared;
        while (committed.epoch < 2) committed = await plainEpoch(activities, plan, committed);
      }
    },
    save: (path: string, plan = comparison) => saveRuns(id, plan, path, context),
    runFolder: dependencies.runFolder,
    carry: (...paths: string[]) => carryRuns(id, comparison, paths, context),
    carryFor: (plan: typeof comparison, path: string) => carryRuns(id, plan, [path], context),
    summarize: (probes: ProbeRecord[]) => own.summarizeComparison({ id, crossPlay: [], probes }),
    results: async () => {
      await own.summarizeComparison({ id, crossPlay: [], probes: [] });
      return readFile(join(home, 'comparisons', id, 'results.md'), 'utf8');
    },
  };
}
const withoutHomes = (results: string): string =>
  results
    .replace(/^> The runs were made in .*\n\n/m, '')
    .replace(
      '| run | last line of its ledger | home |\n| --- | --- | --- |',
      '| run | last line of its ledger |\n| --- | --- |',
    )
    .replace(/^(\| `\S+` \| `\S+` \|) [AB] \|$/gm, '$1');

test('what one home has finished another does not make again, and the results are the same', async () => {
  const [first, second, alone, empty] = await Promise.all([someHome(), someHome(), someHome(), someHome()]);
  const planned = await first.plan();
  await first.finish(planned.slice(0, 2));
  const path = join(first.home, 'first.runs.jsonl');
  await first.save(path);
  expect(first.printed.join()).toContain('2 of 4 runs');

  await second.carry(path);
  const left = await second.plan();
  expect(runNames(left)).toEqual(['tuned 2', 'random 2']);
  await second.finish(left);
  const joined = await second.results();
  expect(joined).toContain('The runs were made in 2 homes');
  expect(joined).toContain('Cross-play: not measured for tuned under seed 1');

  await alone.finish(await alone.plan());
  expect(withoutHomes(joined)).toBe(await alone.results());

  // All of it from the lines that the second home has written, without a run.
  const written = join(second.home, 'comparisons', id, 'runs.jsonl');
  await empty.carry(written);
  expect(await empty.plan()).toEqual([]);
  expect(await empty.results()).toBe(joined);
  expect(await readFile(join(empty.home, 'comparisons', id, 'runs.jsonl'), 'utf8')).toBe(
    await readFile(written, 'utf8'),
  );
}, 120_000);

test('no more probes are read than the comparison asks for', async () => {
  const home = await someHome();
  const run = (await home.plan())[0]!;
  const probe = { arm: run.arm, seed: run.seed, epoch: 1, outcomes: nothing, gradients: null };
  await expect(home.summarize([probe])).rejects.toThrow('comparison: probes: got epoch 1 of tuned, seed 1');
});

test('a run that is finished here with another ledger is not replaced', async () => {
  const [first, second] = await Promise.all([someHome(), someHome()]);
  const [run] = await first.plan();
  await first.finish([run!]);
  const path = join(first.home, 'first.runs.jsonl');
  await first.save(path);
  await second.plan();
  await second.finish([run!]);
  // The same ledger may be carried to where it is.
  await second.carry(path);
  expect(runNames(await second.plan())).toContain('tuned 1');
  const line = JSON.parse(await readFile(path, 'utf8')) as { ledger: string };
  await writeFile(path, `${JSON.stringify({ ...line, ledger: '0'.repeat(64) })}\n`);
  const third = await someHome();
  await third.plan();
  await third.finish([run!]);
  await expect(third.carry(path)).rejects.toThrow(
    'runs file: tuned, seed 1: its ledger ends with 000000000000',
  );
}, 120_000);

test('a seed that another kind of machine has begun is made here as a whole', async () => {
  const [first, second] = await Promise.all([someHome(), someHome()]);
  const planned = await first.plan();
  await first.finish(planned.slice(0, 3));
  const path = join(first.home, 'first.runs.jsonl');
  await first.save(path);
  const lines = (await readFile(path, 'utf8')).trim().split('\n');
  const elsewhere = lines.map((line) => {
    const run = JSON.parse(line) as { origin: object };
    return JSON.stringify({ ...run, origin: { ...run.origin, machine: 'linux x64, Abacus' } });
  });
  await writeFile(path, `${elsewhere.join('\n')}\n`);

  await second.carry(path);
  expect(second.printed.join('\n')).toMatch(/^Seed 2: 1 of its runs .*\(linux x64, Abacus\)/m);
  expect(second.printed.join('\n')).not.toContain('Seed 1');
  const left = await second.plan();
  expect(runNames(left)).toEqual(['tuned 2', 'random 2']);

  // A run that is finished here says better than the name of a processor from which policies runs start here.
  await second.finish(left.slice(1));
  await second.carry(path);
  expect(runNames(await second.plan())).toEqual(['random 2']);
}, 120_000);

/** A file of all runs, which another home has finished. */
async function runsOfAnotherHome(): Promise<string> {
  const { home, plan, finish, save } = await someHome();
  await finish(await plan());
  const path = join(home, 'first.runs.jsonl');
  await save(path);
  return path;
}

test('a seed whose carried runs start from different policies is made here as a whole', async () => {
  const [path, second] = await Promise.all([runsOfAnotherHome(), someHome()]);
  const lines = (await readFile(path, 'utf8')).trim().split('\n');
  const runs = lines.map((line) => JSON.parse(line) as { arm: string; seed: number; warm: object });
  const changed = runs.map((run) =>
    run.seed === 2 && run.arm === 'random' ? { ...run, warm: { ...run.warm, agent: '0'.repeat(64) } } : run,
  );
  await writeFile(path, changed.map((run) => `${JSON.stringify(run)}\n`).join(''));
  await second.carry(path);
  expect(second.printed.join('\n')).toMatch(/^Seed 2: 2 of its runs were made elsewhere/m);
  expect(runNames(await second.plan())).toEqual(['tuned 2', 'random 2']);
}, 120_000);

test('a file that lacks an arm or a seed takes no carried run away', async () => {
  const [path, second] = await Promise.all([runsOfAnotherHome(), someHome()]);
  await second.carry(path);
  await second.carryFor({ ...comparison, seeds: [1] }, path);
  expect(await second.plan()).toEqual([]);
}, 120_000);

test('the arms of the file that was started last are in its order', async () => {
  const { home, plan, planOf } = await someHome();
  await plan();
  const arms = Object.entries(file.arms as object).toReversed();
  await planOf({ ...file, arms: Object.fromEntries(arms) });
  const stored = JSON.parse(await readFile(join(home, 'comparisons', id, 'comparison.json'), 'utf8')) as {
    arms: object;
  };
  expect(Object.keys(stored.arms)).toEqual(arms.map(([arm]) => arm));
});

test('a run whose agent is still being evaluated is not saved, since it would lack its scores for good', async () => {
  const { home, plan, finish, save, printed, runFolder } = await someHome();
  const [run] = await plan();
  await finish([run!]);
  const benchmarks = { every: 2, suites: ['bfcl_v4_multiple'] } as Experiment['evaluation']['benchmarks'];
  const evaluated = Object.fromEntries(
    Object.entries(comparison.arms).map(([arm, experiment]) => [
      arm,
      { ...experiment, evaluation: { ...experiment.evaluation, benchmarks } },
    ]),
  );
  const path = join(home, 'some.runs.jsonl');
  await save(path, { ...comparison, arms: evaluated });
  expect(printed).toEqual([
    `${run!.id} is left out: its agent of epoch 2 is being evaluated.`,
    expect.stringContaining('0 of 4 runs'),
  ]);
  await runFolder(run!.id).appendEvent({ type: 'ended', outcome: 'finished', epoch: 2 });
  await save(path, { ...comparison, arms: evaluated });
  expect(printed.at(-1)).toContain('1 of 4 runs');
});
