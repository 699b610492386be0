import { difficultyFilter } from '../../coevolution/difficulty-filter.ts';
import type { DifficultyRule } from '../../coevolution/difficulty-filter.ts';
import type { Experiment } from '../../config/experiment.ts';
import { isStarved } from '../../curriculum/epoch-tasks.ts';
import { ROUNDING } from '../../numerics/preconditions.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { FilterInput } from '../../types/activity-inputs.ts';
import type { Filtered } from '../../types/activity-types.ts';
import type { Metrics, PolicyRole } from '../../types/run-state.ts';
import type { FilterRecord, ScoreRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/** Share of the tasks that a starved simulator learns from under any filter: those nearest to α. */
const STARVED_KEEP = 0.25;

/** Decides which tasks each update may use (GenEnv 2.2). Every decision is recorded with its reason. */
export function createFilterByDifficulty(dependencies: Dependencies) {
  return (input: FilterInput): Promise<Filtered> =>
    runPhaseOnce(dependencies, 'filter', input, async ({ experiment }) => {
      const { store } = dependencies;
      const { filter, guards } = experiment;
      const rates: (number | null)[] = [];
      // Replayed tasks are no records of the simulator: they take no place among those that it may learn from.
      const newRates: (number | null)[] = [];
      for await (const { target_rate, source } of store.records<ScoreRecord>(input.scores)) {
        rates.push(target_rate);
        newRates.push(source === 'new' ? target_rate : null);
      }
      const isFiltered = (role: PolicyRole): boolean =>
        filter.type !== 'off' && filter.appliesTo.includes(role);
      const starved = filter.type !== 'off' && (await isStarved(dependencies, experiment, input.state));
      const rule: DifficultyRule = starved
        ? { type: 'quantile', alpha: experiment.difficulty.alpha, keep: STARVED_KEEP }
        : ruleOf(experiment);
      const verdicts = {
        agent: difficultyFilter(rates, rule),
        environment: difficultyFilter(newRates, rule),
      };
      const metrics: Metrics = {};
      let informative = 0;
      const decisions = await store.putRecords(
        (async function* (): AsyncGenerator<FilterRecord> {
          let index = 0;
          for await (const score of store.records<ScoreRecord>(input.scores)) {
            const at = index++;
            // The reason is the simulator's, unless its verdict keeps the task and the agent's may not.
            const hasSimulatorVerdict = score.source === 'new' && isFiltered('environment');
            const agentDecides = verdicts.environment[at]!.kept && isFiltered('agent');
            const role = hasSimulatorVerdict && !agentDecides ? 'environment' : 'agent';
            const { reason: difficultyReason } = verdicts[role][at]!;
            const isDoubted = guards.verdictAgreement === true && score.verdicts_differ === true;
            const isMeasured = score.valid && !isDoubted && difficultyReason !== 'not measured';
            const keptFor = (role: PolicyRole): boolean =>
              isMeasured && (verdicts[role][at]!.kept || !isFiltered(role));
            const validReason = score.valid ? difficultyReason : 'invalid';
            const keptForAgent = keptFor('agent');
            if (keptForAgent && score.informative) informative += 1;
            const reason = isDoubted ? 'verdicts differ' : validReason;
            const metric = `env/filtered/${reason.replaceAll(' ', '_')}`;
            metrics[metric] = (metrics[metric] ?? 0) + 1;
            const keptForEnvironment = score.source === 'new' && keptFor('environment');
            if (filter.type !== 'off' && score.source === 'new' && score.target_rate !== null) {
              const tenth = Math.min(9, Math.floor(10 * score.target_rate + ROUNDING));
              const [all, kept] = [`env/rate_tenths/${tenth}`, `env/rate_tenths_kept/${tenth}`];
              metrics[all] = (metrics[all] ?? 0) + 1;
              metrics[kept] = (metrics[kept] ?? 0) + Number(keptForEnvironment);
            }
            yield {
              task_id: score.task_id,
              kept_for_agent: keptForAgent,
              kept_for_environment: keptForEnvironment,
              reason,
            };
          }
        })(),
      );
      const isCounted = experiment.agent.training?.dynamicSampling !== undefined;
      return { decisions, metrics, ...(isCounted && { informative }) };
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
