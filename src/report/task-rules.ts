import type { Experiment } from '../config/experiment.ts';
import { combine } from './charts/options.ts';
import { formatNumber, formatRate } from './format.ts';
import { latest, lowest } from './guard-rule.ts';
import type { Rule } from './guard-rule.ts';
import { measuredValues, namesUnder, series } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/** Guards of what the simulator wrote. */
export function taskRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  const metric = (name: string) => series(rows, name);
  const success = metric('env/success_rate');
  const cap = Math.max(0.5, experiment?.guards.familyCap ?? 0.5);
  const ahead = combine(success, metric('env/frozen_success_rate'), (agent, frozen) => agent - frozen);
  return [
    {
      label: 'Effective groups',
      history: metric('env/effective_group_ratio'),
      threshold: '≥ 0.5',
      isOk: (value) => value >= 0.5,
      explanation:
        'Share of tasks solved sometimes, not always or never. Only these teach the agent. A mean in the ' +
        'band with few of them is half trivial, half impossible.',
    },
    {
      label: 'Signal 4p(1−p)',
      history: metric('env/signal'),
      threshold: '≥ 0.5',
      isOk: (value) => value >= 0.5,
      explanation:
        'How much each task can teach, 1 at p = 0.5. Far below the simulator’s reward, it means a two-humped batch.',
    },
    {
      label: 'Random policy',
      history: metric('env/random_success_rate'),
      threshold: '≤ 0.05',
      isOk: (value) => value <= 0.05,
      explanation:
        'Success of blind answers on the same tasks. High: tasks can be guessed, or their verdicts are noise.',
    },
    {
      label: 'Discrimination',
      history: metric('env/discrimination'),
      threshold: '≥ 0.1',
      isOk: (value) => value >= 0.1,
      explanation: 'Agent minus random policy. Near 0: skill makes no difference on these tasks.',
    },
    {
      label: 'Ahead of its frozen self',
      history: ahead,
      threshold: '> 0.02',
      isOk: (value) => value > 0.02,
      format: formatNumber,
      explanation:
        'Agent minus its initial copy on the same tasks. Near 0: the band was reached by easier tasks ' +
        'alone, not by learning.',
    },
    {
      label: 'Verdict agreement',
      history: metric('env/verdict_agreement'),
      threshold: '= 1, always',
      isOk: (value) => value >= 1,
      judgedBy: lowest,
      explanation:
        'Every answer is judged twice. Below 1, the checker is not deterministic and can be exploited as a coin flip.',
    },
    {
      label: 'Split-half reliability',
      history: metric('env/split_half_reliability'),
      threshold: 'read with verdicts',
      isOk: null,
      format: formatNumber,
      explanation:
        'Whether tasks differ in difficulty. Near 0 with agreeing verdicts, all are alike, as a calibrated ' +
        'simulator writes them; with differing verdicts, success is noise.',
    },
    {
      label: 'Valid tasks',
      history: metric('env/valid_fraction'),
      threshold: '≥ 0.8',
      isOk: (value) => value >= 0.8,
      explanation: 'Share of what the simulator wrote that is a task at all.',
    },
    {
      label: 'Distinct tasks',
      history: metric('env/distinct_fraction'),
      threshold: '≥ 0.7',
      isOk: (value) => value >= 0.7,
      explanation:
        'Share that does not repeat another task of the same epoch. Low: collapse onto a few tasks.',
    },
    {
      label: 'Distance to the archive',
      history: metric('env/archive_distance'),
      threshold: '> 0',
      isOk: (value) => value > 0,
      explanation: 'How new tasks are against those of earlier epochs. 0: copies.',
    },
    {
      label: 'Simulator starved',
      history: metric('env/starved_epochs'),
      threshold: `< ${experiment?.guards.starvedAfter ?? 5} in a row`,
      isOk: (value) => value < (experiment?.guards.starvedAfter ?? 5),
      judgedBy: latest,
      format: formatNumber,
      explanation:
        'Epochs in a row in which nothing it wrote could teach it. At the threshold it is helped, until something can.',
    },
    {
      label: 'Largest kind',
      history: largestKind(rows),
      threshold: `≤ ${formatRate(cap)}`,
      isOk: (value) => value <= cap + 0.02,
      explanation:
        'Share of the most frequent kind of task. A simulator that found one exploitable kind moves ' +
        'everything onto it.',
    },
    recordsAge(metric('pool/env_mean_age'), experiment?.pools.environment),
    {
      label: 'Slowest kind’s progress',
      history: slowestKind(rows),
      threshold: 'read with difficulty',
      isOk: null,
      format: formatNumber,
      explanation:
        'Learning progress (fast minus slow average of success) of the kind that progresses least. Near 0 ' +
        'is fine while difficulty rises; near 0 at constant difficulty, nothing is learned there.',
    },
  ];
}

/** Without settings, there is no threshold. */
function recordsAge(history: (number | null)[], pool: Experiment['pools']['environment'] | undefined): Rule {
  const rule = { label: 'Age of the simulator’s records', history, format: formatNumber };
  if (pool === undefined)
    return {
      ...rule,
      threshold: 'read with the window',
      isOk: null,
      explanation: 'Epochs since a record of D_env was written, in the mean.',
    };
  if (pool.memory !== null)
    return {
      ...rule,
      threshold: 'with a memory: read',
      isOk: null,
      explanation:
        'Epochs since a record of D_env was written, in the mean. It grows with the memory, as it should: ' +
        'a remembered record answers the success that its context told of, so its reward holds however old ' +
        'it is.',
    };
  const maxAge = pool.window ?? 1;
  return {
    ...rule,
    threshold: `≤ ${maxAge}`,
    isOk: (value) => value <= maxAge,
    explanation:
      'Epochs since a record of D_env was written, in the mean. Old records carry success rates of an ' +
      'agent that is gone, and pull the simulator back to what was hard then.',
  };
}

function largestKind(rows: readonly EpochRow[]): (number | null)[] {
  const kinds = namesUnder(rows, 'env/kind/');
  if (kinds.length < 2) return rows.map(() => null);
  return rows.map(({ metrics }) =>
    extreme(
      kinds.map((kind) => metrics[`env/kind/${kind}`] ?? null),
      Math.max,
    ),
  );
}

function slowestKind(rows: readonly EpochRow[]): (number | null)[] {
  const kinds = namesUnder(rows, 'env/learning_progress/');
  return rows.map(({ metrics }) =>
    extreme(
      kinds.map((kind) => metrics[`env/learning_progress/${kind}`] ?? null),
      Math.min,
    ),
  );
}

function extreme(values: (number | null)[], pick: (...values: number[]) => number): number | null {
  const present = measuredValues(values);
  return present.length === 0 ? null : pick(...present);
}
