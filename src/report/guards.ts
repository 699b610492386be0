import type { Experiment } from '../config/experiment.ts';
import { mean } from '../numerics/arithmetic.ts';
import { between } from './charts/options.ts';
import { formatNumber, formatPercent, formatRate } from './document.ts';
import { lastMean } from './findings.ts';
import { measured, namesUnder, series } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/** One line of the guards' table. `info` has no threshold: it is read, not judged. */
export interface Guard {
  label: string;
  value: string;
  threshold: string;
  state: 'ok' | 'warn' | 'info' | 'missing';
  meaning: string;
  history: (number | null)[];
}

interface Rule {
  label: string;
  history: (number | null)[];
  threshold: string;
  ok: ((value: number) => boolean) | null;
  meaning: string;
  format?: (value: number) => string;
  /** What is judged; the mean of the last five epochs unless it says otherwise. */
  over?: (history: number[]) => number | null;
}

/**
 * Detectors of curricula that look right and teach nothing: a success rate in the band proves little alone.
 * Each is judged by the mean of its last five values, unless its threshold says otherwise.
 */
export function guards(rows: readonly EpochRow[], experiment: Experiment | null): Guard[] {
  return [
    ...taskRules(rows, experiment),
    ...worldRules(rows, experiment),
    ...updateRules(rows, experiment),
  ].map(({ label, history, threshold, ok, meaning, format = formatRate, over }) => {
    const now = over && measured(history).length > 0 ? over(measured(history)) : lastMean(history);
    const state = now === null ? 'missing' : ok === null ? 'info' : ok(now) ? 'ok' : 'warn';
    return { label, value: now === null ? 'not measured' : format(now), threshold, state, meaning, history };
  });
}

function taskRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  const of = (name: string) => series(rows, name);
  const success = of('env/success_rate');
  const cap = Math.max(0.5, experiment?.guards.familyCap ?? 0.5);
  const ahead = between(success, of('env/frozen_success_rate'), (agent, frozen) => agent - frozen);
  return [
    {
      label: 'Effective groups',
      history: of('env/effective_group_ratio'),
      threshold: '≥ 0.5',
      ok: (value) => value >= 0.5,
      meaning:
        'Share of tasks solved sometimes, not always or never. Only these teach the agent. A mean in the band with few of them is half trivial, half impossible.',
    },
    {
      label: 'Signal 4p(1−p)',
      history: of('env/signal'),
      threshold: '≥ 0.5',
      ok: (value) => value >= 0.5,
      meaning:
        'How much each task can teach, 1 at p = 0.5. Far below the simulator’s reward, it means a two-humped batch.',
    },
    {
      label: 'Random policy',
      history: of('env/random_success_rate'),
      threshold: '≤ 0.05',
      ok: (value) => value <= 0.05,
      meaning:
        'Success of blind answers on the same tasks. High: tasks can be guessed, or their verdicts are noise.',
    },
    {
      label: 'Discrimination',
      history: of('env/discrimination'),
      threshold: '≥ 0.1',
      ok: (value) => value >= 0.1,
      meaning: 'Agent minus random policy. Near 0: skill makes no difference on these tasks.',
    },
    {
      label: 'Ahead of its frozen self',
      history: ahead,
      threshold: '> 0.02',
      ok: (value) => value > 0.02,
      format: formatNumber,
      meaning:
        'Agent minus its initial copy on the same tasks. Near 0: the band was reached by easier tasks alone, not by learning.',
    },
    {
      label: 'Verdict agreement',
      history: of('env/verdict_agreement'),
      threshold: '= 1, always',
      ok: (value) => value >= 1,
      over: (history) => Math.min(...history),
      meaning:
        'Every answer is judged twice. Below 1, the checker is not deterministic and can be exploited as a coin flip.',
    },
    {
      label: 'Split-half reliability',
      history: of('env/split_half_reliability'),
      threshold: 'read with verdicts',
      ok: null,
      format: formatNumber,
      meaning:
        'Whether tasks differ in difficulty. Near 0 with agreeing verdicts, all are alike, as a calibrated simulator writes them; with differing verdicts, success is noise.',
    },
    {
      label: 'Valid tasks',
      history: of('env/valid_fraction'),
      threshold: '≥ 0.8',
      ok: (value) => value >= 0.8,
      meaning: 'Share of what the simulator wrote that is a task at all.',
    },
    {
      label: 'Distinct tasks',
      history: of('env/distinct_fraction'),
      threshold: '≥ 0.7',
      ok: (value) => value >= 0.7,
      meaning: 'Share that does not repeat another task of the same epoch. Low: collapse onto a few tasks.',
    },
    {
      label: 'Distance to the archive',
      history: of('env/archive_distance'),
      threshold: '> 0',
      ok: (value) => value > 0,
      meaning: 'How new tasks are against those of earlier epochs. 0: copies.',
    },
    {
      label: 'Simulator starved',
      history: of('env/starved_epochs'),
      threshold: `< ${experiment?.guards.starvedAfter ?? 5} in a row`,
      ok: (value) => value < (experiment?.guards.starvedAfter ?? 5),
      over: (history) => history.at(-1) ?? null,
      format: formatNumber,
      meaning:
        'Epochs in a row in which nothing it wrote could teach it. At the threshold it is helped, until something can.',
    },
    {
      label: 'Largest kind',
      history: largestKind(rows),
      threshold: `≤ ${formatRate(cap)}`,
      ok: (value) => value <= cap + 0.02,
      meaning:
        'Share of the most frequent kind of task. A simulator that found one exploitable kind moves everything onto it.',
    },
    recordsAge(of('pool/env_mean_age'), experiment?.pools.environment),
    {
      label: 'Slowest kind’s progress',
      history: slowestKind(rows),
      threshold: 'read with difficulty',
      ok: null,
      format: formatNumber,
      meaning:
        'Learning progress (fast minus slow average of success) of the kind that progresses least. Near 0 is fine while difficulty rises; near 0 at constant difficulty, nothing is learned there.',
    },
  ];
}

/** Of worlds where the simulator writes more than tasks: a run of another world has no such line. */
function worldRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  return [...wordingRules(series(rows, 'env/inconsistent')), ...labelRules(rows, experiment)];
}

function wordingRules(history: (number | null)[]): Rule[] {
  if (measured(history).length === 0) return [];
  return [
    {
      label: 'Untrue wordings',
      history,
      threshold: '≤ 5 %',
      ok: (value) => value <= 0.05,
      format: formatPercent,
      meaning:
        'Share of the simulator’s wordings that contradicted what happened. The agent never reads them: the world’s own words stand in, and the task earns that much less.',
    },
  ];
}

function labelRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  const votes = series(rows, 'env/label_votes');
  const each =
    experiment !== null && 'vote' in experiment.world ? (experiment.world.vote?.votes ?? null) : null;
  if (each === null || measured(votes).length === 0) return [];
  const labelled = votes.map((cast) => (cast ? cast / each : null));
  const ofLabels = (name: string) => between(series(rows, name), labelled, (tasks, labels) => tasks / labels);
  return [
    {
      label: 'Disputed labels',
      history: ofLabels('env/labels_disputed'),
      threshold: '≤ 2 %',
      ok: (value) => value <= 0.02,
      format: formatPercent,
      meaning:
        'Share of the simulator’s own labels against which most votes of the initial agent agree on another answer. High: it writes wrong labels, of which some pass the vote.',
    },
    {
      label: 'Unconfirmed labels',
      history: ofLabels('env/labels_unconfirmed'),
      threshold: 'read with disputed labels',
      ok: null,
      format: formatPercent,
      meaning:
        'Share of the simulator’s own labels that too few votes confirmed, which makes the task invalid. High with few disputes: the questions are too hard for the agent that votes.',
    },
  ];
}

function updateRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  const of = (name: string) => series(rows, name);
  const cap = (role: 'agent' | 'environment') => experiment?.[role].training?.maxKl ?? null;
  const underCap = (label: string, name: string, maxKl: number | null): Rule => ({
    label,
    history: of(name),
    threshold: maxKl === null ? 'no cap set' : `≤ ${formatNumber(maxKl)}`,
    ok: maxKl === null ? null : (value) => value <= maxKl,
    format: formatNumber,
    meaning:
      'Nats a token between the policy and its reference. Above the cap only the KL term acts, until it is back.',
  });
  const updated = (label: string, name: string, role: 'agent' | 'environment', low: string): Rule => {
    const frozen = experiment !== null && experiment[role].training === null;
    const rule = {
      label,
      history: of(name).map((steps) => (steps === null ? null : Number(steps > 0))),
      format: formatPercent,
      over: mean,
    };
    if (frozen)
      return {
        ...rule,
        threshold: 'frozen',
        ok: null,
        meaning: 'The experiment file keeps this policy as it is.',
      };
    return {
      ...rule,
      threshold: '≥ 80 %',
      ok: (value) => value >= 0.8,
      meaning: `Share of all epochs in which it was updated. Low: ${low}.`,
    };
  };
  const tolerance = experiment?.trainer.precision === 'bfloat16' ? 1e-2 : 1e-4;
  return [
    updated('Simulator updated', 'env/steps', 'environment', 'the difficulty filter starves it'),
    updated('Agent updated', 'steps', 'agent', 'too few informative groups'),
    {
      label: 'Regression weights in use',
      history: of('env/rwr_ess'),
      threshold: '0.2 to 0.98',
      ok: (value) => value >= 0.2 && value <= 0.98,
      meaning:
        'Effective sample size of the weights over their number. Low: few tasks decide; near 1: rewards make no difference, as with the paper’s constants.',
    },
    {
      label: 'Anchor set',
      history: between(of('eval/anchor'), of('eval/anchor_best'), (now, best) => now - best),
      threshold: 'read with rollbacks',
      ok: null,
      over: (history) => history.at(-1) ?? null,
      format: formatNumber,
      meaning:
        'Success on tasks that the simulator never sees, against the best so far. The agent is rolled back where this is more than chance.',
    },
    {
      label: 'Rollbacks of the agent',
      history: of('eval/anchor_rolled_back'),
      threshold: '= 0 in all',
      ok: (value) => value === 0,
      over: (history) => history.reduce((sum, value) => sum + value, 0),
      format: formatNumber,
      meaning: 'Looks at the anchor set after which the agent was rolled back, because it had forgotten.',
    },
    underCap('KL of the simulator', 'env/kl', cap('environment')),
    underCap('KL of the agent', 'kl', cap('agent')),
    {
      label: 'Sampler against trainer',
      history: of('sampling/sampling_logp_difference/mean'),
      threshold: `≤ ${formatNumber(tolerance)}`,
      ok: (value) => value <= tolerance,
      format: formatNumber,
      meaning:
        'Mean difference of log-probabilities as sampled and as recomputed. Large: the two do not run the same model.',
    },
    {
      label: 'Rollouts lost',
      history: of('rollouts/errored'),
      threshold: '= 0 in all',
      ok: (value) => value === 0,
      over: (history) => history.reduce((sum, value) => sum + value, 0),
      format: formatNumber,
      meaning: 'Rollouts that could not be run. They are never counted as failures of the agent.',
    },
  ];
}

/** Without settings, nothing is said of what is too old. */
function recordsAge(history: (number | null)[], pool: Experiment['pools']['environment'] | undefined): Rule {
  const rule = { label: 'Age of the simulator’s records', history, format: formatNumber };
  if (pool === undefined)
    return {
      ...rule,
      threshold: 'read with the window',
      ok: null,
      meaning: 'Epochs since a record of D_env was written, in the mean.',
    };
  if (pool.memory !== null)
    return {
      ...rule,
      threshold: 'with a memory: read',
      ok: null,
      meaning:
        'Epochs since a record of D_env was written, in the mean. It grows with the memory, as it should: a remembered record answers the success that its context told of, so its reward holds however old it is.',
    };
  const most = pool.window ?? 1;
  return {
    ...rule,
    threshold: `≤ ${most}`,
    ok: (value) => value <= most,
    meaning:
      'Epochs since a record of D_env was written, in the mean. Old records carry success rates of an agent that is gone, and pull the simulator back to what was hard then.',
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
  const present = measured(values);
  return present.length === 0 ? null : pick(...present);
}
