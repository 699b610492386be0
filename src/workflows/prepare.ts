import type { Committed, Opened } from '../contracts/phases.ts';
import { phases } from './phases.ts';
import type { Stopwatch } from './stopwatch.ts';

/** Epoch 0: warm policies, base and held-out tasks, and the agent's score before any training. */
export async function prepare({ run, settings }: Opened, watch: Stopwatch): Promise<Committed> {
  const does = phases(settings);
  const agent = await watch.time('warm up agent', () => does.warmUp({ run, role: 'agent' }));
  const environment = await watch.time('warm up environment', () => does.warmUp({ run, role: 'environment' }));
  const prepared = await watch.time('prepare', () => does.prepareRun({ run, agent, environment }));
  await watch.time('publish', () => Promise.all([agent, environment].map((policy) => does.publishPolicy({ run, policy }))));
  const written = settings.writesPool ? await watch.time('write pool', () => does.writePool({ run, epoch: 0, state: prepared })) : undefined;
  const gated = settings.gateEvery === undefined ? undefined : await watch.time('gate', () => does.gateAgent({ run, epoch: 0, state: prepared, agent }));
  const state = { ...prepared, ...(written && { task_pool: written.pool, tokens: written.tokens }), ...(gated && { anchor: gated.anchor }) };
  const { evaluate: shards } = settings.shards;
  const verdicts = await watch.time('evaluate', () => Promise.all(Array.from({ length: shards }, (_, shard) => does.evaluatePolicy({ run, epoch: 0, state, shard, shards, agent }))));
  return does.commitEpoch({
    run,
    epoch: 0,
    outputs: { tasks: null, traces: [], rewards: null, scores: null, decisions: null, verdicts: verdicts.map(({ file }) => file) },
    next: state,
    metrics: [written?.metrics, gated?.metrics].filter((some) => some !== undefined),
    notes: [],
    retried: verdicts.reduce((total, { retried }) => total + retried, 0),
    seconds: watch.total(),
  });
}
