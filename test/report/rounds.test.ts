import { expect, it } from 'vitest';
import { estimateUsage } from '../../src/cli/lib/cost-lines.ts';
import { estimateRun } from '../../src/cli/lib/estimates.ts';
import { cards } from '../../src/report/cards.ts';
import { roundCharts } from '../../src/report/charts/rounds.ts';
import { epochUsages } from '../../src/report/costs.ts';
import { findings } from '../../src/report/findings.ts';
import type { EpochRow, RunData } from '../../src/report/run-data.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import { planActions } from '../../src/runs/temporal-actions.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { withFields } from '../../test-support/experiments.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { smallFile } from '../activities/some-run.ts';
import { epochRow } from './epoch-row.ts';

const experiment = parseExperiment(
  withFields(smallFile, {
    'agent.training.dropZeroVariance': true,
    'agent.training.dynamicSampling': { informativeGroups: 12, maxRounds: 4 },
  }),
);

const row = (epoch: number, metrics: EpochRow['metrics']): EpochRow => epochRow(epoch, { metrics });
/** 16 tasks a round, four rollouts of each. */
const rows = [
  row(0, {}),
  row(1, {
    'rollouts/rounds': 4,
    'rollouts/rounds_capped': 1,
    'rollouts/informative_groups': 5,
    'rollouts/count': 256,
  }),
  row(2, {
    'rollouts/rounds': 1,
    'rollouts/rounds_capped': 0,
    'rollouts/informative_groups': 13,
    'rollouts/count': 64,
  }),
];

interface Drawn {
  name: string;
  data: (number | null)[];
  markLine?: { data: { yAxis: number }[] };
}

it('draws rounds, tasks rolled out and groups that inform, with the cap and what was asked for', () => {
  const charts = roundCharts(rows, experiment);
  expect(charts.map(({ id }) => id)).toEqual(['sampling-rounds', 'sampled-groups']);
  const [[rounds], [tasks, groups]] = charts.map(({ option }) => option.series as Drawn[]) as [
    Drawn[],
    Drawn[],
  ];
  expect(rounds).toMatchObject({ data: [4, 1], markLine: { data: [{ yAxis: 4 }] } });
  expect(tasks!.data).toEqual([64, 16]);
  expect(groups).toMatchObject({ data: [5, 13], markLine: { data: [{ yAxis: 12 }] } });
});

it('draws nothing without dynamic sampling', () => {
  expect(roundCharts([row(1, { 'rollouts/count': 64 })], experiment)).toEqual([]);
});

it('says in the card of rollouts how many rounds an epoch took', () => {
  const detailOf = (all: EpochRow[]): string => {
    const run = { rows: all, events: [] } as unknown as Parameters<typeof cards>[0];
    return cards(run, findings(all), undefined).find(({ label }) => label === 'Rollouts')!.detail;
  };
  expect(detailOf(rows)).toBe('2.5 rounds an epoch, 1 ended by the cap, none lost');
  expect(detailOf([row(1, { 'rollouts/count': 64 })])).toBe('none lost');
});

it('costs the actions of each round, of which --dry-run has the most there can be', async () => {
  const world = createWorld(experiment.world);
  const settings = workflowSettings(experiment, world);
  const planned = planActions(settings).epochs;
  // Of three further rounds: the shards of generating and rolling out, drawing, rewards and filter.
  const further = 3 * (settings.shards.generate + settings.shards.rollOut + 3);
  const run: RunData = {
    ...{ runId: 'some', experiment, experimentFile: null, rows, events: [], retunes: [] },
    ...{ forkedFrom: [], head: null, gaps: [] },
  };
  expect(epochUsages(run, world)!.map(({ actions }) => actions)).toEqual([
    planned[0],
    planned[1]! + further,
    planned[2],
  ]);
  const estimated = estimateUsage(experiment, world, await estimateRun(experiment, world));
  expect(estimated.slice(0, 3).map(({ actions }) => actions)).toEqual([
    planned[0],
    planned[1]! + further,
    planned[2]! + further,
  ]);
});
