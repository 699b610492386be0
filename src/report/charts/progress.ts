import { TARGET_BAND } from '../../coevolution/success-band.ts';
import type { Experiment } from '../../config/experiment.ts';
import { evaluationsOf, isExact, trailingMean } from '../findings.ts';
import type { HeldOutGrid } from '../held-out.ts';
import { benchmarkPrefix } from '../../runs/benchmark-scores.ts';
import { measuredValues, namesUnder, series, trainingRows } from '../run-data.ts';
import type { EpochRow } from '../run-data.ts';
import {
  addSpread,
  colorAt,
  heatMap,
  line,
  markLevel,
  overEpochs,
  points,
  ribbon,
  shadeBand,
  unlessEmpty,
} from './options.ts';
import type { Chart, Values } from './options.ts';

const bandText = `band [${TARGET_BAND.low}, ${TARGET_BAND.high}]`;

/** Is the agent kept at the edge of its ability, and by what tasks? */
export function frontierCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trainingRows(allRows);
  const rates = series(rows, 'env/success_rate');
  const difficulty = series(rows, 'env/difficulty');
  const spread = series(rows, 'env/difficulty_sd');
  const charts: Chart[] = [
    {
      id: 'success-rate',
      title: 'Success rate on the simulator’s tasks',
      size: 'wide',
      caption:
        'Mean p̂ over valid new tasks: one dot an epoch, the line is their 5-epoch mean. The shaded band ' +
        'is where the method wants it.',
      option: overEpochs(
        rows,
        [
          shadeBand(
            line('5-epoch mean', trailingMean(rates), { color: '$blue', width: 3 }),
            [TARGET_BAND.low, TARGET_BAND.high],
            bandText,
          ),
          points('epoch', rates, '$blue'),
        ],
        { min: 0, max: 1 },
      ),
    },
    ...histogram(rows),
    {
      id: 'difficulty',
      title: 'Task difficulty',
      caption:
        'What the simulator writes: mean and standard deviation of the world’s own measure. The dashed ' +
        'line weighs tasks by how often they are solved.',
      option: overEpochs(
        rows,
        [
          ...ribbon(
            'difficulty',
            addSpread(difficulty, spread, -1),
            addSpread(difficulty, spread, 1),
            '$orange',
          ),
          line('mean', difficulty, { color: '$orange', width: 3 }),
          line('solved', series(rows, 'env/difficulty_solved'), { color: '$green', dashed: true }),
        ],
        { min: 0 },
      ),
    },
  ];
  return charts.flatMap(unlessEmpty);
}

function histogram(rows: EpochRow[]): Chart[] {
  const ks = namesUnder(rows, 'env/success_rate_hist/');
  const cells = rows.flatMap(({ metrics }, column) =>
    ks.map((k, row): [number, number, number | null] => [
      column,
      row,
      metrics[`env/success_rate_hist/${k}`] ?? 0,
    ]),
  );
  if (cells.length === 0) return [];
  const n = ks.at(-1) ?? '';
  return [
    {
      id: 'success-histogram',
      title: 'Tasks by number of successes',
      caption:
        `Each column is an epoch: how many tasks were solved in k of ${n} attempts. A healthy run is bright ` +
        'in the middle; two bright edges are tasks that teach nothing.',
      option: heatMap({
        columns: rows.map(({ epoch }) => String(epoch)),
        rows: ks.map((k) => `${k}/${n}`),
        cells,
        max: cells.reduce((most, [, , value]) => Math.max(most, value ?? 0), 1),
        valueName: 'tasks',
      }),
    },
  ];
}

const PASS_AT_K_CAPTION =
  ' pass@k: solved in at least one of k attempts. Level or falling while success rises, training only ' +
  'sharpened what the agent could do.';

/** Did the agent learn what it was not trained on? */
export function heldOutCharts(rows: readonly EpochRow[], grids: readonly HeldOutGrid[]): Chart[] {
  const evaluations = evaluationsOf(rows);
  const evaluated = rows.filter(({ epoch }) => evaluations.some((evaluation) => evaluation.epoch === epoch));
  const kinds = namesUnder(rows, 'eval/heldout/');
  const passes = series(evaluated, 'eval/pass_at_k');
  const hasPasses = measuredValues(passes).length > 0;
  const suites = namesUnder(rows, benchmarkPrefix);
  const benchmarked = rows.filter(({ metrics }) =>
    suites.some((suite) => typeof metrics[`${benchmarkPrefix}${suite}`] === 'number'),
  );
  return [
    {
      id: 'held-out',
      title: 'Held-out success',
      ...(grids.length === 0 && kinds.length === 0 ? { size: 'wide' as const } : {}),
      caption:
        (evaluations.every(isExact)
          ? 'Tasks that the simulator never sees: the exact probability of the right answer.'
          : 'Tasks that the simulator never sees, with 95 % Wilson intervals.') +
        (hasPasses ? PASS_AT_K_CAPTION : ''),
      option: overEpochs(
        evaluated,
        [
          ...ribbon(
            'interval',
            evaluations.map(({ low }) => low),
            evaluations.map(({ high }) => high),
            '$green',
          ),
          {
            ...line(
              'held-out',
              evaluations.map(({ value }) => value),
              { color: '$green', width: 3 },
            ),
            showSymbol: true,
          },
          ...(hasPasses ? [line('pass@k', passes, { color: '$purple' })] : []),
        ],
        { min: 0, max: 1 },
      ),
    },
    {
      id: 'held-out-kinds',
      title: 'Held-out success by kind',
      caption: 'A kind that stays behind was not practised, or is harder.',
      option: overEpochs(
        evaluated,
        kinds.map((kind, index) =>
          line(kind, series(evaluated, `eval/heldout/${kind}`), { color: colorAt(index) }),
        ),
        { min: 0, max: 1 },
      ),
    },
    {
      id: 'benchmarks',
      title: 'Benchmarks',
      caption:
        'The main score of each suite that the agent was evaluated on; intervals are in the evaluations’ own files.',
      option: overEpochs(
        benchmarked,
        suites.map((suite, index) => ({
          ...line(suite, series(benchmarked, `${benchmarkPrefix}${suite}`), { color: colorAt(index) }),
          showSymbol: true,
        })),
        { min: 0, max: 1 },
      ),
    },
    ...grids.map(({ epoch, kinds: columns, difficulties, cells }, index): Chart => ({
      id: `held-out-grid-${index === 0 ? 'start' : 'end'}`,
      title: `Held-out success after epoch ${epoch}`,
      caption: 'Share solved, by kind and difficulty. Empty cells have no held-out task.',
      option: heatMap({
        columns: difficulties,
        rows: columns,
        cells,
        max: 1,
        valueName: 'success',
        axes: ['difficulty', 'kind'],
      }),
    })),
  ].flatMap(unlessEmpty);
}

/** Rewards and the two policies' updates. */
export function updateCharts(allRows: readonly EpochRow[], experiment: Experiment | null): Chart[] {
  const rows = trainingRows(allRows);
  const metric = (name: string) => series(rows, name);
  const maxKl = experiment?.environment.training?.maxKl ?? null;
  const simulatorKl = line('simulator', metric('env/kl'), { color: '$orange' });
  const highestKl = Math.max(0, ...metric('env/kl').map((value) => value ?? 0));
  // The cap is drawn once the KL comes near it.
  const shownCap = maxKl === null || highestKl < maxKl / 4 ? null : maxKl;
  const clipNames = namesUnder(rows, 'clip_ratio/').filter((name) =>
    ['low_mean', 'high_mean', 'region_mean', 'low', 'high', 'region'].includes(name),
  );
  return [
    {
      id: 'rewards',
      title: 'Rewards',
      caption:
        'The simulator’s R_env, highest where success is at its target, and the agent’s mean and standard ' +
        'deviation over all rollouts.',
      option: overEpochs(
        rows,
        [
          line('agent', metric('reward'), { color: '$blue' }),
          line('agent, standard deviation', metric('reward_std'), { color: '$blue', dashed: true, width: 1 }),
          line('simulator R_env', metric('env/reward'), { color: '$orange' }),
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
          line('all', metric('completions/mean_length'), { color: '$blue' }),
          line('correct', metric('completions/correct_mean_length'), { color: '$green', width: 3 }),
          line('longest', metric('completions/max_length'), { color: '$slate', dashed: true, width: 1 }),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'kl',
      title: 'KL to the reference',
      caption:
        'Nats a token. The dashed line is the simulator’s cap: above it the loss is the KL term alone.',
      option: overEpochs(
        rows,
        [
          shownCap === null ? simulatorKl : markLevel(simulatorKl, shownCap, `cap ${shownCap}`),
          line('agent', metric('kl'), { color: '$blue' }),
        ],
        { min: 0, ...(shownCap === null || highestKl > shownCap ? {} : { max: shownCap * 1.2 }) },
      ),
    },
    {
      id: 'grad-norm',
      title: 'Gradient norm',
      caption: 'Before clipping.',
      option: overEpochs(
        rows,
        [
          line('agent', metric('grad_norm'), { color: '$blue' }),
          line('simulator', metric('env/grad_norm'), { color: '$orange' }),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'loss',
      title: 'Loss',
      caption: 'GRPO’s loss hovers near 0 by construction; the simulator’s is a weighted cross-entropy.',
      option: overEpochs(rows, [
        line('agent', metric('loss'), { color: '$blue' }),
        line('simulator', metric('env/loss'), { color: '$orange' }),
      ]),
    },
    {
      id: 'entropy',
      title: 'Entropy of the agent',
      caption: 'Nats a token. A fall to 0 ends exploration.',
      option: overEpochs(rows, [line('entropy', metric('entropy'), { color: '$purple' })], { min: 0 }),
    },
    {
      id: 'clip-ratio',
      title: 'Clipped tokens',
      caption: 'Share of tokens whose probability ratio left the trust region.',
      option: overEpochs(
        rows,
        clipNames.map((name, index) =>
          line(name.replace('_mean', ''), metric(`clip_ratio/${name}`), { color: colorAt(index) }),
        ),
        { min: 0 },
      ),
    },
    {
      id: 'rwr-ess',
      title: 'Effective sample size of the regression',
      caption:
        'Share of the records that really count. Near 1 the weighting does nothing; below 0.2 few records decide.',
      option: overEpochs(rows, [line('effective sample size', metric('env/rwr_ess'), { color: '$orange' })], {
        min: 0,
        max: 1,
      }),
    },
    {
      id: 'rwr-weight',
      title: 'Largest regression weight',
      caption: 'The mean weight is 1; the clip is in the experiment file.',
      option: overEpochs(rows, [line('largest weight', metric('env/rwr_weight_max'), { color: '$red' })], {
        min: 0,
      }),
    },
    {
      id: 'logp-difference',
      title: 'Sampler against trainer',
      caption:
        'Absolute difference of log-probabilities as sampled and as recomputed before the update (log scale; exact ' +
        'zeros are not drawn).',
      option: overEpochs(
        rows,
        [
          line('mean', positive(metric('sampling/sampling_logp_difference/mean')), { color: '$blue' }),
          line('max', positive(metric('sampling/sampling_logp_difference/max')), {
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
