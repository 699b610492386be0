import { describe, expect, it } from 'vitest';
import { mean } from '../../src/numerics/arithmetic.ts';
import type { TrainedJob } from '../../test-support/fake-trainer.ts';
import { someRun } from '../activities/some-run.ts';
import { learnFor, LearningSimulator, linesOf, promptOf } from './learners.ts';

/**
 * One of four tools has a verdict that is the toss of a coin, so it is always "half solved". The agent solves
 * a sixth of the honest tasks at first, and practice helps. Epochs are few: the table learns faster than a
 * model would.
 */
const epochs = 10;
const off = {
  discrimination: false,
  familyCap: null,
  randomSuccess: null,
  verdictAgreement: false,
  clusterDistance: null,
  flatRewards: null,
  starvedAfter: null,
  gateAgent: null,
  frozenSamples: 0,
};

async function trapped(
  fields: Record<string, unknown>,
): Promise<{ coins: number; most: number; honest: number; metrics: Record<string, number | null> }> {
  const practice = new Map<string, number>();
  const skill = (tool: string): number => 1 - 0.85 * Math.exp(-0.01 * (practice.get(tool) ?? 0));
  const simulator = new LearningSimulator(
    { T: 0.25, U: 0.25, V: 0.25, W: 0.25 },
    (task) => task.slice(0, 1),
    (tool, random) => `${tool}:${Array.from({ length: 6 }, () => random.pick([...'abcdefghi'])).join('')}`,
  );
  const run = await someRun(
    {
      epochs,
      'world.tools': 4,
      'world.coinFlipTools': 1,
      'environment.promptsPerEpoch': 6,
      'agent.rolloutsPerTask': 8,
      'durability.promptsPerRequest': 32,
      'evaluation.every': 100,
      ...fields,
    },
    { success: (_, __, spec) => skill(spec.slice(0, 1)), task: simulator.task },
  );
  const agent = ({ records }: TrainedJob): void => {
    for (const group of new Set(records.map(({ group_id }) => group_id))) {
      const tool = promptOf(records.find(({ group_id }) => group_id === group)!).slice(0, 1);
      practice.set(tool, (practice.get(tool) ?? 0) + 1);
    }
  };
  const { metrics } = await learnFor(run, epochs, { simulator, agent });
  const most = Math.max(...(await linesOf(run)).map((line) => line.metrics['env/kind/W'] ?? 0));
  return { coins: simulator.shares.get('W')!, most, honest: mean(['T', 'U', 'V'].map(skill))!, metrics };
}

describe('one coin-flip tool', { timeout: 60_000 }, () => {
  it.each([0, 1, 2])(
    'takes the simulator over where no guard is on, with a success rate in the middle of the band: seed %i',
    async (seed) => {
      const { coins, most, honest, metrics } = await trapped({ seed, guards: off });
      expect(coins).toBeGreaterThan(0.6);
      expect(most).toBeGreaterThan(0.6);
      expect(metrics['env/success_rate']).toBeGreaterThan(0.35);
      expect(metrics['env/success_rate']).toBeLessThan(0.65);
      expect(metrics['env/effective_group_ratio']).toBeGreaterThan(0.8);
      expect(metrics['env/distinct_fraction']).toBe(1);
      // What betrays it; 1 and at most 0.05 are healthy.
      expect(metrics['env/verdict_agreement']).toBeLessThan(0.8);
      expect(metrics['env/random_success_rate']).toBeGreaterThan(0.25);
      const random = await trapped({ seed, arm: { type: 'random' }, guards: off });
      expect(honest).toBeLessThan(random.honest - 0.03);
    },
  );

  it.each([0, 1, 2])(
    'is left alone under the tuned guards, from the first epoch to the last, and the honest tools are learnt as with random tasks: seed %i',
    async (seed) => {
      const { coins, most, honest } = await trapped({ seed, 'guards.frozenSamples': 0 });
      expect(coins).toBeLessThan(0.1);
      expect(most).toBeLessThan(0.5);
      const random = await trapped({ seed, arm: { type: 'random' }, 'guards.frozenSamples': 0 });
      expect(honest).toBeGreaterThan(random.honest - 0.03);
    },
  );

  it.each([
    ['two verdicts that differ', { verdictAgreement: true }, 0.1],
    ['an agent that does no better than a random policy', { discrimination: true }, 0.15],
    ['a random policy that succeeds', { randomSuccess: 0.125 }, 0.15],
    ['a cap on its share', { familyCap: 0.5 }, 0.5],
  ])('is held down by each guard alone: %s', async (_, guard, most) => {
    expect((await trapped({ guards: { ...off, ...guard } })).coins).toBeLessThan(most);
  });
});
