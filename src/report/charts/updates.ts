import type { Experiment } from '../../contracts/experiment.ts';
import { namesUnder, series, trained } from '../run-data.ts';
import type { EpochRow } from '../run-data.ts';
import { colorAt, line, marked, overEpochs, unlessEmpty } from './parts.ts';
import type { Chart, Values } from './parts.ts';

/** Rewards and the two policies' updates. */
export function updateCharts(allRows: readonly EpochRow[], experiment: Experiment | null): Chart[] {
  const rows = trained(allRows);
  const of = (name: string) => series(rows, name);
  const maxKl = experiment?.environment.training?.maxKl ?? null;
  const simulatorKl = line('simulator', of('env/kl'), { color: '$orange' });
  const highestKl = Math.max(0, ...of('env/kl').map((value) => value ?? 0));
  const near = maxKl === null || highestKl < maxKl / 4 ? null : maxKl;
  const clipNames = namesUnder(rows, 'clip_ratio/').filter((name) =>
    ['low_mean', 'high_mean', 'region_mean', 'low', 'high', 'region'].includes(name),
  );
  return [
    {
      id: 'rewards',
      title: 'Rewards',
      caption:
        'The simulator’s R_env, highest where success is at its target, and the agent’s mean and standard deviation over all rollouts.',
      option: overEpochs(
        rows,
        [
          line('agent', of('reward'), { color: '$blue' }),
          line('agent, standard deviation', of('reward_std'), { color: '$blue', dashed: true, width: 1 }),
          line('simulator R_env', of('env/reward'), { color: '$orange' }),
        ],
        { min: 0, max: 1 },
      ),
    },
    {
      id: 'response-length',
      title: 'Response length',
      caption:
        'Tokens of the agent’s answers. Growth on correct answers is the emergent curriculum of the paper.',
      option: overEpochs(
        rows,
        [
          line('all', of('completions/mean_length'), { color: '$blue' }),
          line('correct', of('completions/correct_mean_length'), { color: '$green', width: 3 }),
          line('longest', of('completions/max_length'), { color: '$slate', dashed: true, width: 1 }),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'kl',
      title: 'KL to the reference',
      caption: 'Nats a token. The dashed line is the simulator’s cap: above it only the KL term acts.',
      option: overEpochs(
        rows,
        [
          near === null ? simulatorKl : marked(simulatorKl, near, `cap ${near}`),
          line('agent', of('kl'), { color: '$blue' }),
        ],
        { min: 0, ...(near === null || highestKl > near ? {} : { max: near * 1.2 }) },
      ),
    },
    {
      id: 'grad-norm',
      title: 'Gradient norm',
      caption: 'Before clipping.',
      option: overEpochs(
        rows,
        [
          line('agent', of('grad_norm'), { color: '$blue' }),
          line('simulator', of('env/grad_norm'), { color: '$orange' }),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'loss',
      title: 'Loss',
      caption: 'GRPO’s loss hovers near 0 by construction; the simulator’s is a weighted cross-entropy.',
      option: overEpochs(rows, [
        line('agent', of('loss'), { color: '$blue' }),
        line('simulator', of('env/loss'), { color: '$orange' }),
      ]),
    },
    {
      id: 'entropy',
      title: 'Entropy of the agent',
      caption: 'Nats a token. A fall to 0 ends exploration.',
      option: overEpochs(rows, [line('entropy', of('entropy'), { color: '$purple' })], { min: 0 }),
    },
    {
      id: 'clip-ratio',
      title: 'Clipped tokens',
      caption: 'Share of tokens whose probability ratio left the trust region.',
      option: overEpochs(
        rows,
        clipNames.map((name, index) =>
          line(name.replace('_mean', ''), of(`clip_ratio/${name}`), { color: colorAt(index) }),
        ),
        { min: 0 },
      ),
    },
    {
      id: 'rwr-ess',
      title: 'Effective sample size of the regression',
      caption:
        'Share of the records that really count. Near 1 the weighting does nothing; below 0.2 few records decide.',
      option: overEpochs(rows, [line('effective sample size', of('env/rwr_ess'), { color: '$orange' })], {
        min: 0,
        max: 1,
      }),
    },
    {
      id: 'rwr-weight',
      title: 'Largest regression weight',
      caption: 'The mean weight is 1; the clip is in the experiment file.',
      option: overEpochs(rows, [line('largest weight', of('env/rwr_weight_max'), { color: '$red' })], {
        min: 0,
      }),
    },
    {
      id: 'logp-difference',
      title: 'Sampler against trainer',
      caption:
        'Absolute difference of log-probabilities as sampled and as recomputed (log scale; exact zeros are not drawn).',
      option: overEpochs(
        rows,
        [
          line('mean', positive(of('sampling/sampling_logp_difference/mean')), { color: '$blue' }),
          line('max', positive(of('sampling/sampling_logp_difference/max')), {
            color: '$slate',
            dashed: true,
          }),
        ],
        { log: true },
      ),
    },
  ].flatMap(unlessEmpty);
}

const positive = (values: Values): Values =>
  values.map((value) => (value !== null && value > 0 ? value : null));
