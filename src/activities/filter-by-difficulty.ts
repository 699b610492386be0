import { difficultyFilter } from '../coevolution/difficulty-filter.ts';
import type { DifficultyRule } from '../coevolution/difficulty-filter.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { Filtered, FilterInput, Metrics } from '../contracts/phases.ts';
import type { FilterRecord, ScoreRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';

/** Which tasks each update may use (GenEnv 2.2). What is dropped is recorded with its reason. */
export function createFilterByDifficulty(ports: Ports) {
  return (input: FilterInput): Promise<Filtered> =>
    phase(ports, 'filter', input, async ({ experiment }) => {
      const scores = await collect(ports.store.records<ScoreRecord>(input.scores));
      const verdicts = difficultyFilter(scores.map(({ target_rate }) => target_rate), ruleOf(experiment));
      const { filter } = experiment;
      const filters = (role: 'agent' | 'environment'): boolean => filter.type !== 'off' && filter.appliesTo.includes(role);
      const decisions = scores.map(({ task_id, valid, source }, index): FilterRecord => {
        const { kept, reason } = verdicts[index]!;
        const measured = valid && reason !== 'not measured';
        return {
          task_id,
          kept_for_agent: measured && (kept || !filters('agent')),
          kept_for_environment: measured && source === 'new' && (kept || !filters('environment')),
          reason: valid ? reason : 'invalid',
        };
      });
      return { decisions: await ports.store.putRecords(decisions), metrics: countReasons(decisions) };
    });
}

function ruleOf({ filter, difficulty: { alpha } }: Experiment): DifficultyRule {
  switch (filter.type) {
    case 'off':
      return { type: 'off' };
    case 'threshold':
      return { type: 'threshold', alpha, kMin: filter.kMin };
    case 'quantile':
      return { type: 'quantile', alpha, keep: filter.keep };
    case 'topK':
      return { type: 'topK', alpha, k: filter.k };
  }
}

function countReasons(decisions: readonly FilterRecord[]): Metrics {
  const metrics: Metrics = {};
  for (const { reason } of decisions) {
    const name = `env/filtered/${reason.replaceAll(' ', '_')}`;
    metrics[name] = (metrics[name] ?? 0) + 1;
  }
  return metrics;
}
