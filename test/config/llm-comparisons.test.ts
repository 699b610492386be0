import { describe, expect, test } from 'vitest';
import { parseComparison } from '../../src/config/comparison.ts';
import { agentRollouts } from '../../src/config/equal-terms.ts';
import { changedFields } from '../../src/config/retune.ts';
import { experimentFile } from '../../test-support/experiments.ts';

/** The files of docs/real-llm.md and docs/comparison.md that ask what teaches, and whether a simulator finds it. */

describe.each(['toolbox-teaching', 'smollm2-teaching'])('%s', (name) => {
  const { arms, seeds, primary, worlds } = parseComparison(experimentFile(name));
  const rates = [0.05, 0.15, 0.3, 0.5, 0.7, 0.9];
  const targets = Object.values(arms).map(({ arm, agent }) => ({
    target: arm.type === 'success-bin' ? arm.target : undefined,
    drops: agent.training!.dropZeroVariance,
    normalizer: agent.training!.normalizeBy,
  }));

  test('has every bin and a mix of all with groups kept, and bins on both sides with groups dropped', () => {
    const kept = targets.filter(({ drops }) => !drops).map(({ target }) => target);
    expect(kept).toEqual([...rates, null]);
    const dropped = targets.filter(({ drops }) => drops).map(({ target }) => target);
    expect(dropped).toEqual(expect.arrayContaining([0.15, 0.5, 0.9]));
    // Dropped without rescaling is kept, but for rounding.
    for (const { drops, normalizer } of targets) expect(normalizer).toBe(drops ? 'kept' : undefined);
  });

  test('differs in target and in what becomes of groups without signal alone', () => {
    for (const experiment of Object.values(arms)) {
      const changes = changedFields({ ...arms.p50!, name: '' }, { ...experiment, name: '' }, 9);
      expect(
        changes.replace(/(arm\.target|agent\.training\.(dropZeroVariance|normalizeBy)): was [^;]*/g, ''),
      ).toMatch(/^[; ]*$/);
      expect(agentRollouts(experiment)).toBe(64);
      expect(experiment.epochs).toBe(4);
      expect(experiment.evaluation.logprob).toBe(true);
    }
  });

  test('names its primary comparisons, over seeds enough for an exact test, each with a world of its own', () => {
    expect(primary!.map(({ arm, against, measure }) => [arm, against, measure])).toEqual([
      ['p50', 'p15', 'logprobGain'],
      ['p50', 'even', 'logprobGain'],
    ]);
    expect(seeds.length).toBeGreaterThanOrEqual(6);
    expect(worlds).toBe('by-seed');
  });
});

describe('smollm2-main', () => {
  const main = parseComparison(experimentFile('smollm2-main'));

  test('sets the method against the same simulator frozen, tasks by code, and selection by text', () => {
    expect(Object.values(main.arms).map(({ arm }) => arm)).toMatchObject([
      { type: 'genenv', preset: 'tuned' },
      { type: 'random' },
      { type: 'uniform' },
      { type: 'selection', predictor: 'text' },
    ]);
    expect(main.primary!.map(({ arm, against, measure, margin }) => [arm, against, measure, margin])).toEqual(
      [
        ['genenv', 'random', 'area', 0.02],
        ['genenv', 'uniform', 'area', 0.02],
      ],
    );
    expect(main.seeds).toHaveLength(6);
    for (const { agent } of Object.values(main.arms)) expect(agent.training!.dropZeroVariance).toBe(false);
  });

  test('has a second file with harder base tasks and without tasks by code, which do not depend on them', () => {
    const hard = parseComparison(experimentFile('smollm2-main-hard'));
    const arms = Object.entries(main.arms).filter(([name]) => name !== 'uniform');
    expect(Object.keys(hard.arms)).toEqual(arms.map(([name]) => name));
    for (const [arm, experiment] of arms)
      expect(changedFields({ ...experiment, name: '' }, { ...hard.arms[arm]!, name: '' }, 9)).toMatch(
        /^world\.baseCalls[^;]*$/,
      );
    expect({ ...hard, name: '', arms: {}, primary: [] }).toEqual({
      ...main,
      name: '',
      arms: {},
      primary: [],
    });
    expect(hard.primary).toEqual(main.primary!.filter(({ against }) => against !== 'uniform'));
  });
});
