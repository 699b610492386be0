import type { Experiment } from '../config/experiment.ts';
import { mean } from '../numerics/arithmetic.ts';
import { combine } from './charts/options.ts';
import { formatNumber, formatPercent } from './format.ts';
import { latest, total } from './guard-rule.ts';
import type { Rule } from './guard-rule.ts';
import { series } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/** Guards of both policies' updates. */
export function updateRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  const metric = (name: string) => series(rows, name);
  const cap = (role: 'agent' | 'environment') => experiment?.[role].training?.maxKl ?? null;
  const underCap = (label: string, name: string, maxKl: number | null): Rule => ({
    label,
    history: metric(name),
    threshold: maxKl === null ? 'no cap set' : `≤ ${formatNumber(maxKl)}`,
    isOk: maxKl === null ? null : (value) => value <= maxKl,
    format: formatNumber,
    explanation:
      'Nats a token between the policy and its reference. Above the cap the loss is the KL term alone.',
  });
  const updateShare = (label: string, name: string, role: 'agent' | 'environment', low: string): Rule => {
    const frozen = experiment !== null && experiment[role].training === null;
    const rule = {
      label,
      history: metric(name).map((steps) => (steps === null ? null : Number(steps > 0))),
      format: formatPercent,
      judgedBy: mean,
    };
    if (frozen)
      return {
        ...rule,
        threshold: 'frozen',
        isOk: null,
        explanation: 'The experiment file keeps this policy as it is.',
      };
    return {
      ...rule,
      threshold: '≥ 80 %',
      isOk: (value) => value >= 0.8,
      explanation: `Share of all epochs in which it was updated. Low: ${low}.`,
    };
  };
  const tolerance = experiment?.trainer.precision === 'bfloat16' ? 1e-2 : 1e-4;
  return [
    updateShare('Simulator updated', 'env/steps', 'environment', 'the difficulty filter starves it'),
    updateShare('Agent updated', 'steps', 'agent', 'too few informative groups'),
    {
      label: 'Regression weights in use',
      history: metric('env/rwr_ess'),
      threshold: '0.2 to 0.98',
      isOk: (value) => value >= 0.2 && value <= 0.98,
      explanation:
        'Effective sample size of the weights over their number. Low: few tasks decide; near 1: rewards ' +
        'make no difference, as with the paper’s constants.',
    },
    {
      label: 'Anchor set',
      history: combine(metric('eval/anchor'), metric('eval/anchor_best'), (current, best) => current - best),
      threshold: 'read with rollbacks',
      isOk: null,
      judgedBy: latest,
      format: formatNumber,
      explanation:
        'Success on tasks that the simulator never sees, against the best so far. The agent is rolled back ' +
        'where this is more than chance.',
    },
    {
      label: 'Rollbacks of the agent',
      history: metric('eval/anchor_rolled_back'),
      threshold: '= 0 in all',
      isOk: (value) => value === 0,
      judgedBy: total,
      format: formatNumber,
      explanation: 'Looks at the anchor set after which the agent was rolled back, because it had forgotten.',
    },
    underCap('KL of the simulator', 'env/kl', cap('environment')),
    underCap('KL of the agent', 'kl', cap('agent')),
    {
      label: 'Sampler against trainer',
      history: metric('sampling/sampling_logp_difference/mean'),
      threshold: `≤ ${formatNumber(tolerance)}`,
      isOk: (value) => value <= tolerance,
      format: formatNumber,
      explanation:
        'Mean difference of log-probabilities as sampled and as recomputed. Large: the two do not run the same model.',
    },
    {
      label: 'Rollouts lost',
      history: metric('rollouts/errored'),
      threshold: '= 0 in all',
      isOk: (value) => value === 0,
      judgedBy: total,
      format: formatNumber,
      explanation: 'Rollouts that could not be run. They are never counted as failures of the agent.',
    },
  ];
}
