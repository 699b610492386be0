import { describe, expect, it } from 'vitest';
import { estimateRun } from '../../src/cli/lib/estimates.ts';
import { estimateUsage, usageLines } from '../../src/cli/lib/cost-lines.ts';
import { armCostsMarkdown } from '../../src/comparison/costs.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { parsePrices } from '../../src/config/prices.ts';
import { costView, epochUsages, serverShare } from '../../src/report/costs.ts';
import type { EpochRow, RunData } from '../../src/report/run-data.ts';
import { gpuHours, priceOf, sumUsage } from '../../src/runs/costs.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import { planActions } from '../../src/runs/temporal-actions.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile } from '../../test-support/experiments.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { epochRow } from './epoch-row.ts';

/** Every figure here was worked out by hand. */

const prices = parsePrices({
  date: '2026-11-23',
  source: 'a test',
  currency: 'EUR',
  millionActions: 50,
  millionTokensSampled: 10,
  millionTokensRead: 2,
  gpuHour: 3,
  gpus: { serving: 2, training: 4 },
  speed: { tokensSampledPerSecond: 1000, tokensTrainedPerSecond: 500 },
});
const usage = {
  actions: 20_000,
  tokensSampled: 300_000,
  tokensRead: 500_000,
  servingHours: 1.5,
  trainingHours: 0.5,
};
const experiment = parseExperiment(tinyExperiment({ epochs: 2 }));
const world = createWorld(experiment.world);

describe('a usage', () => {
  it('costs its actions, its tokens by kind, and the hours of each GPU', () => {
    // 2 x 1.5 h + 4 x 0.5 h = 5 h; 0.02 x 50 + (0.3 x 10 + 0.5 x 2) + 5 x 3 = 20
    expect(gpuHours(usage, prices.gpus)).toBe(5);
    expect(gpuHours(usage)).toBe(2);
    expect(priceOf(usage, prices)).toEqual({ actions: 1, tokens: 4, gpu: 15, total: 20 });
  });

  it('costs nothing of what has no price or no figure', () => {
    const unrecorded = { ...usage, tokensRead: null, trainingHours: null };
    expect(priceOf(unrecorded, prices)).toEqual({ actions: 1, tokens: 3, gpu: null, total: 4 });
    const { date, source, currency, gpus } = prices;
    expect(priceOf(usage, { date, source, currency, gpus, millionTokensRead: 2 })).toEqual({
      actions: null,
      tokens: 1,
      gpu: null,
      total: 1,
    });
  });

  it('is summed field by field; hours that are not known stay so, prompt tokens are those that are', () => {
    const unrecorded = { ...usage, tokensRead: null, servingHours: null };
    expect(sumUsage([usage, usage, unrecorded])).toEqual({
      actions: 60_000,
      tokensSampled: 900_000,
      tokensRead: 1_000_000,
      servingHours: null,
      trainingHours: 1.5,
    });
    expect(sumUsage([unrecorded, unrecorded]).tokensRead).toBeNull();
    expect(sumUsage([]).tokensRead).toBe(0);
  });
});

describe('what a run would use', () => {
  it('has tokens spread over its epochs, and hours by the speeds of an earlier run', async () => {
    const run = await estimateRun(experiment, world);
    const estimate = {
      ...run,
      resources: {
        ...run.resources,
        tokens: 7_200_000,
        prompts: { simulator: 100, agent: 900, repair: 10, vote: 100, wording: 0 },
      },
      prompts: {
        simulator: { mean: 50, longest: 60 },
        agent: { mean: 20, longest: 30 },
        repair: { mean: 30, longest: 40 },
        observation: null,
      },
    };
    const planned = planActions(workflowSettings(experiment, world));
    const nothing = { tokensSampled: 0, tokensRead: 0, servingHours: 0, trainingHours: 0 };
    // 3.6 million tokens an epoch, at 1000 and 500 a second; (100 x 50 + 1000 x 20 + 10 x 30) / 2 prompt tokens
    const epoch = { tokensSampled: 3_600_000, tokensRead: 12_650, servingHours: 1, trainingHours: 2 };
    expect(estimateUsage(experiment, world, estimate, prices)).toEqual([
      { actions: planned.epochs[0], ...nothing },
      { actions: planned.epochs[1], ...epoch },
      { actions: planned.epochs[2], ...epoch },
      { actions: planned.run, ...nothing },
    ]);
    const unpriced = estimateUsage(experiment, world, estimate);
    expect(unpriced[1]).toMatchObject({ servingHours: null, trainingHours: null });
  });
});

describe('the report', () => {
  const row = (epoch: number, metrics: EpochRow['metrics'], time: EpochRow['time']): EpochRow =>
    epochRow(epoch, { metrics, time });
  const attempt = (epoch: number) => ({ at: '', type: 'attempt', workflow: `some/epoch-000${epoch}` });
  const run: RunData = {
    runId: 'some',
    experiment,
    experimentFile: null,
    rows: [
      row(
        0,
        { num_tokens: 0, 'usage/completion_tokens': 40, 'usage/prompt_tokens': 100 },
        { evaluate: 1800 },
      ),
      row(1, { num_tokens: 1000 }, { generate: 360, 'roll out': 720, 'train agent': 1800, commit: 9 }),
      row(
        2,
        { num_tokens: 2500, 'usage/completion_tokens': 1700, 'usage/prompt_tokens': 9000 },
        { 'roll out': 3600, 'train agent': 1800, 'train environment': 1800 },
      ),
    ],
    events: [attempt(2), attempt(2), { at: '', type: 'note', workflow: 'some/epoch-0002' }],
    retunes: [],
    forkedFrom: [],
    head: null,
    gaps: [],
  };
  const usages = epochUsages(run, world)!;
  const planned = planActions(workflowSettings(experiment, world)).epochs;

  it('has what each epoch used: of an older version without prompts, the tokens of its ledger', () => {
    expect(usages).toMatchObject([
      { epoch: 0, tokensSampled: 40, tokensRead: 100, servingHours: 0.5, trainingHours: 0 },
      { epoch: 1, tokensSampled: 1000, tokensRead: null, servingHours: 0.3, trainingHours: 0.5 },
      { epoch: 2, tokensSampled: 1700, tokensRead: 9000, servingHours: 1, trainingHours: 1 },
    ]);
    expect(usages.map(({ actions }) => actions)).toEqual([planned[0], planned[1], planned[2]! + 2]);
    expect(epochUsages({ ...run, experiment: null }, world)).toBeNull();
  });

  it('shows a row an epoch and their sum, with the money, and names what is not counted', () => {
    const view = costView(
      usages.map((epoch) => ({ ...epoch, actions: 100_000 })),
      prices,
    );
    const rows = [view!.columns, ...view!.rows].map((cells) =>
      cells.map((text) => text.replaceAll('\u202f', ' ')),
    );
    expect(rows).toEqual([
      [
        'Epoch',
        'Temporal actions',
        'Tokens sampled',
        'Tokens read',
        'Server hours',
        'Training hours',
        'GPU hours',
        'EUR',
      ],
      // 5 of actions each; 2 x 0.5 h, 2 x 0.3 + 4 x 0.5 = 2.6 h, 2 + 4 = 6 h of 3 EUR; tokens below: 0.0006 …
      ['0', '100 000', '40', '100', '0.5', '0', '1', '8.00'],
      ['1', '100 000', '1 000', '–', '0.3', '0.5', '2.6', '12.81'],
      ['2', '100 000', '1 700', '9 000', '1', '1', '6', '23.04'],
      // 15 + 9.6 x 3 + 0.00274 x 10 + 0.0091 x 2 = 43.8456
      ['all', '300 000', '2 740', '9 100', '1.8', '1.5', '9.6', '43.85'],
    ]);
    expect(view!.notes.join(' ')).toContain('1 of 3 epochs have no record of the prompts’ tokens');
    expect(costView(usages.slice(2), prices)!.notes.join(' ')).not.toContain('no record of');
  });

  it('of a comparison sums the runs of each arm, and says nothing of an arm that cannot be read', () => {
    const epochs = [usage, usage];
    const arms = [
      { arm: 'a', runs: 2, epochs, curves: [] },
      { arm: 'b', runs: 1, epochs: [{ ...usage, tokensRead: null }], curves: [] },
    ];
    const text = armCostsMarkdown('some', arms, prices).replaceAll('\u202f', ' ');
    expect(text.split('\n').filter((line) => line.startsWith('|'))).toEqual([
      '| arm | runs | Temporal actions | Tokens sampled | Tokens read | Server hours | Training hours | GPU hours | EUR |',
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
      '| a | 2 | 40 000 | 600 000 | 1 000 000 | 3 | 1 | 10 | 40.00 |',
      '| b | 1 | 20 000 | 300 000 | – | 1.5 | 0.5 | 5 | 19.00 |',
      '| all | 3 | 60 000 | 900 000 | 1 000 000 | 4.5 | 1.5 | 15 | 59.00 |',
    ]);
    expect(text).toContain('1 of 3 epochs have no record');
    const missing = armCostsMarkdown('some', [
      { arm: 'a', runs: 2, epochs, curves: [] },
      { arm: 'c', runs: 1, epochs: null, curves: [] },
    ]);
    expect(missing).toContain('| c | 1 | – | – | – | – | – |\n| all | 3 | – | – | – | – | – |');
  });
});

describe('a simulator on a server of its own', () => {
  const split = {
    ...usage,
    tokensSampled: 5_000_000,
    tokensRead: 4_000_000,
    servers: { simulator: { tokensSampled: 1_000_000, tokensRead: 3_000_000 } },
  };

  it('has its own prices, and all other tokens the common ones', () => {
    // 4 x 10 + 1 x 2 by the common prices, 1 x 100 + 3 x 20 by its own
    const own = { ...prices, simulator: { millionTokensSampled: 100, millionTokensRead: 20 } };
    expect(priceOf(split, own).tokens).toBe(202);
    expect(priceOf(split, prices).tokens).toBe(58);
    expect(priceOf(usage, own).tokens).toBe(4);
  });

  it('is counted apart in a sum and in what is said of a run', () => {
    const sum = sumUsage([split, split, usage]);
    expect(sum.servers).toEqual({ simulator: { tokensSampled: 2_000_000, tokensRead: 6_000_000 } });
    expect(usageLines(sum)[0]).toMatch(
      /^simulator {3}2,000,000 tokens sampled and about 6,000,000 read by its own server/,
    );
    expect(serverShare(sum)).toMatch(/has sampled 2.000.000 and read 6.000.000 of them/);
  });

  it('is estimated apart before a run: chat completions read a prompt for each sample', async () => {
    const file = parseExperiment(experimentFile('api-simulator'));
    const words = createWorld(file.world);
    const estimate = await estimateRun(file, words);
    const [, epoch] = estimateUsage(file, words, estimate);
    const candidates = 16 * 4 * 4;
    expect(epoch!.servers!.simulator!.tokensSampled).toBe(candidates * 1024 * 2);
    expect(estimate.resources.prompts.simulator).toBe(40 * candidates);
    expect(epoch!.tokensSampled).toBeGreaterThan(epoch!.servers!.simulator!.tokensSampled);
    expect(estimate.disk.unknown).toEqual(['/models/Qwen2.5-7B-Instruct']);
  });
});
