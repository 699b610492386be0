import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parseComparison } from '../../src/config/comparison.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { ComparisonFolder } from '../../src/runs/result-folders.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import { planActions } from '../../src/runs/temporal-actions.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { someExperiment, makeRun } from '../report/make-run.ts';
import { genenv } from './genenv-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'genenv-costs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, content: object): string => {
  writeFileSync(join(folder, name), JSON.stringify(content));
  return join(folder, name);
};
const prices = { date: '2026-11-23', source: 'a test', currency: 'EUR', millionActions: 1e6 };
const speed = { tokensSampledPerSecond: 1, tokensTrainedPerSecond: 1 };
const cellsOf = (line: string): string[] => line.trim().split(/ {2,}/);

test('compare --dry-run has the actions, tokens, GPU hours and money of a run of each arm', async () => {
  const file = write('comparison.json', tinyComparison());
  const home = { GENENV_HOME: join(folder, 'dry') };
  const dry = async (...options: string[]) => {
    const { out } = await genenv(['compare', file, '--dry-run', ...options], home);
    const [, head = '', ...lines] = out.split('\n');
    const table = [head, ...lines.slice(0, lines.indexOf(''))].map(cellsOf);
    return table
      .slice(1)
      .map((cells) => Object.fromEntries(table[0]!.map((title, at) => [title, cells[at]])));
  };
  const arms = Object.entries(parseComparison(tinyComparison()).arms);
  const actions = arms.map(([, experiment]) => {
    const { epochs, run } = planActions(workflowSettings(experiment, createWorld(experiment.world)));
    return epochs.reduce((sum, count) => sum + count, run);
  });
  const plain = await dry();
  expect(Object.keys(plain[0]!)).toEqual([
    'arm',
    'epochs',
    'rollouts',
    'held-out attempts',
    'tokens sampled',
    'tokens read',
    'actions',
    'disk',
  ]);
  expect(plain.map((row) => [row.arm, row.epochs, row.actions])).toEqual(
    arms.map(([arm], at) => [arm, '2', actions[at]!.toLocaleString('en-US')]),
  );
  const priced = await dry('--prices', write('prices.json', { ...prices, speed }));
  // A token a second in servers and in training: two seconds of a GPU for each token.
  const hours = priced.map((row) =>
    ((2 * Number(row['tokens sampled']!.replaceAll(',', ''))) / 3600).toFixed(1),
  );
  expect(priced.map((row) => row['GPU hours'])).toEqual(hours);
  expect(priced.map((row) => row.EUR)).toEqual(actions.map((count) => count.toFixed(2)));
  expect(priced.map((row) => Number(row['tokens read']!.replaceAll(',', '')) > 1000)).toEqual([true, true]);
  const unknown = await dry('--prices', write('slow.json', prices));
  expect(unknown.map((row) => row['GPU hours'])).toEqual(['–', '–']);
});

test('report of a comparison writes what its arms have used, beside results that do not change by it', async () => {
  const home = join(folder, 'home');
  const experiment = someExperiment(2);
  const comparisons = new ComparisonFolder(join(home, 'comparisons'), 'pair');
  const arms = { tuned: experiment, random: experiment };
  await comparisons.write({ ...parseComparison(tinyComparison()), name: 'pair', seeds: [1, 2], arms });
  for (const runId of ['pair.tuned.1', 'pair.tuned.2', 'pair.random.1'])
    await makeRun({ home, runId, epochs: 2, planned: 2 });
  const report = async () =>
    genenv(['report', 'pair', '--prices', write('prices.json', prices)], { GENENV_HOME: home });
  const lines = () => readFileSync(comparisons.costsFile, 'utf8').split('\n');
  expect(await report()).toMatchObject({
    code: 0,
    out: expect.stringContaining(comparisons.costsFile) as string,
  });
  const settings = workflowSettings(parseExperiment(experiment), createWorld(experiment.world));
  const actions = planActions(settings).epochs.reduce((sum, count) => sum + count, 0);
  // Two runs of 2 x 4200 tokens; run random.2 has not begun, so nothing is known of its arm.
  expect(lines().find((line) => line.startsWith('| tuned |'))).toMatch(
    new RegExp(
      `^\\| tuned \\| 2 \\| ${2 * actions} \\| 16\u202f800 \\| – \\| .* \\| ${(2 * actions).toFixed(2)} \\|$`,
    ),
  );
  expect(lines().find((line) => line.startsWith('| random |'))).toBe(
    '| random | 2 | – | – | – | – | – | – | – |',
  );
  await makeRun({ home, runId: 'pair.random.2', epochs: 2, planned: 2 });
  await report();
  expect(lines().find((line) => line.startsWith('| all |'))).toMatch(
    /^\| all \| 4 \| [\d\u202f]+ \| 33\u202f600 \|/,
  );
  const nobody = await genenv(['report', 'nobody'], { GENENV_HOME: home });
  expect(nobody).toMatchObject({ code: 2 });
  expect(nobody.err).toContain('has no such run');
});
