import { difficultyFilter } from '../../coevolution/difficulty-filter.ts';
import type { DifficultyRule } from '../../coevolution/difficulty-filter.ts';
import type { Experiment } from '../../config/experiment.ts';
import { isStarved } from '../../curriculum/epoch-tasks.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Filtered, FilterInput, Metrics } from '../../types/activity-types.ts';
import type { FilterRecord, ScoreRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/** Share of the tasks that a starved simulator learns from, whatever its filter: those nearest to α. */
const STARVED_KEEP = 0.25;

/** Which tasks each update may use (GenEnv 2.2). What is dropped is recorded with its reason. */
export function createFilterByDifficulty(dependencies: Dependencies) {
  return (input: FilterInput): Promise<Filtered> =>
    runPhaseOnce(dependencies, 'filter', input, async ({ experiment }) => {
      const { store } = dependencies;
      const targets: (number | null)[] = [];
      for await (const { target_rate } of store.records<ScoreRecord>(input.scores)) targets.push(target_rate);
      const { filter, guards } = experiment;
      const starved = filter.type !== 'off' && (await isStarved(dependencies, experiment, input.state));
      const verdicts = difficultyFilter(
        targets,
        starved
          ? { type: 'quantile', alpha: experiment.difficulty.alpha, keep: STARVED_KEEP }
          : ruleOf(experiment),
      );
      const filters = (role: 'agent' | 'environment'): boolean =>
        filter.type !== 'off' && filter.appliesTo.includes(role);
      const metrics: Metrics = {};
      const decisions = await store.putRecords(
        (async function* (): AsyncGenerator<FilterRecord> {
          let index = 0;
          for await (const { task_id, valid, source, verdicts_differ } of store.records<ScoreRecord>(
            input.scores,
          )) {
            const verdict = verdicts[index++]!;
            const doubted = guards.verdictAgreement === true && verdicts_differ === true;
            const measured = valid && !doubted && verdict.reason !== 'not measured';
            const reason = doubted ? 'verdicts differ' : valid ? verdict.reason : 'invalid';
            const name = `env/filtered/${reason.replaceAll(' ', '_')}`;
            metrics[name] = (metrics[name] ?? 0) + 1;
            yield {
              task_id,
              kept_for_agent: measured && (verdict.kept || !filters('agent')),
              kept_for_environment: measured && source === 'new' && (verdict.kept || !filters('environment')),
              reason,
            };
          }
        })(),
      );
      return { decisions, metrics };
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
