import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { showSweep } from '../../src/cli/lib/sweep.ts';
import { summarize } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { sweepMarkdown } from '../../src/comparison/sweep-markdown.ts';
import { sweep } from '../../src/comparison/sweep.ts';
import { sweepSvg } from '../../src/comparison/sweep-svg.ts';
import { comparison, runs } from './some-runs.ts';
import type { Course } from './some-runs.ts';

/** A comparison whose agent starts at p0, and whose first arm ends so much ahead. */
function summaryOf(name: string, p0: number, gain: number): Summary {
  const plan = { ...comparison([1, 2, 3, 4, 5, 6]), name };
  const ending = (end: (seed: number) => number): Course => ({
    heldOut: (seed) => [0.1, 0.1, 0.1, end(seed)],
    success: (epoch) => p0 + (epoch - 1) / 50,
  });
  const courses = {
    tuned: ending((seed) => 0.5 + gain + seed / 100),
    random: ending(() => 0.5),
  };
  return summarize(plan, runs(plan, courses), []);
}
const pair = { arm: 'tuned', against: 'random' };
const result = sweep([summaryOf('easy', 0.45, -0.1), summaryOf('hard', 0.02, 0.06)], [pair], 'finalHeldOut');

test('a sweep has a point for each comparison, from hard to easy, with interval and exact p', () => {
  expect(result.points.map(({ comparison: name, p0, p }) => [name, p0, p])).toEqual([
    ['hard', 0.02, 2 / 64],
    ['easy', 0.45, 2 / 64],
  ]);
  const text = sweepMarkdown(result);
  expect(text).toContain('| tuned − random | 0.020 | +0.095 [0.075, 0.115] | 6 | p = 0.031 | hard |');
  expect(text).toContain('| tuned − random | 0.450 | −0.065 [−0.085, −0.045] | 6 | p = 0.031 | easy |');
});

test('as a figure it has a line, the interval of each point, and the line of no gain', () => {
  const svg = sweepSvg(result);
  expect(svg.match(/<circle /g)).toHaveLength(2);
  expect(svg.match(/stroke="#0072b2" stroke-width="2"\/>/g)).toHaveLength(2);
  // From −0.1 to 0.15 in steps of 0.05: 0 is at two fifths.
  expect(svg).toContain(
    '<line x1="76.0" y1="235.6" x2="700.0" y2="235.6" stroke="#333333" stroke-width="1"/>',
  );
  expect(svg).toContain('>−0.100</text>');
  const named = { ...pair, arm: '<a&b>' };
  const [, hard] = result.points;
  expect(sweepSvg({ ...result, pairs: [named], points: [{ ...hard!, ...named }] })).toContain(
    '&lt;a&amp;b&gt;',
  );
  // No start above 0, and no difference.
  expect(sweepSvg(sweep([summaryOf('flat', 0, -0.035)], [pair], 'area'))).not.toMatch(/NaN|Infinity/);
});

test('several pairs have a line of the legend each, and intervals side by side', () => {
  const svg = sweepSvg(
    sweep([summaryOf('hard', 0.02, 0.06)], [pair, { arm: 'random', against: 'tuned' }], 'area'),
  );
  const places = (element: string, attribute: string): string[] =>
    [
      ...svg.matchAll(
        new RegExp(`<${element} [^>]*?${attribute}="([0-9.]+)"[^>]*fill="#(0072b2|d55e00)"`, 'g'),
      ),
    ].map(([, value]) => value!);
  expect(places('rect', 'y')).toEqual(['38', '58']);
  const [first, second] = places('circle', 'cx').map(Number);
  expect(second! - first!).toBeCloseTo(5, 9);
  // So small a range needs three decimals.
  expect(svg).toContain('>0.005</text>');
});

test('the command writes both, and names what is wrong', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'genenv-sweep-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'some.json');
  const out = join(folder, 'sweep');
  await writeFile(file, JSON.stringify(summaryOf('hard', 0.02, 0.06)));
  const context = { env: {}, print: () => undefined, warn: () => undefined, terminal: null };
  const show = (difference: string, measure = 'area') =>
    showSweep([file], { difference: [difference], measure, out }, context);
  expect(await show('tuned:random')).toBe(0);
  expect(await readFile(`${out}.svg`, 'utf8')).toMatch(/^<svg /);
  expect(await readFile(`${out}.md`, 'utf8')).toContain('| tuned − random | 0.020 |');
  await expect(show('tuned:none')).rejects.toThrow('sweep: got tuned:none; expected two arms of one of hard');
  await expect(show('tuned')).rejects.toThrow('--difference: got "tuned"; expected two arms');
  await expect(show('tuned:random', 'luck')).rejects.toThrow('--measure: got "luck"; allowed: area, ');
  await writeFile(file, '{"name":"x"}');
  await expect(show('tuned:random')).rejects.toThrow(`summary: ${file}: baseline: `);
});

test('rollouts to a threshold that a seed did not come to are no figure of it', () => {
  const never = summaryOf('hard', 0.02, -0.3);
  expect(() => sweep([never], [pair], 'rolloutsToThreshold')).toThrow(
    'sweep: --measure: got rolloutsToThreshold; hard has seeds of tuned or random that did not come to its threshold',
  );
});
