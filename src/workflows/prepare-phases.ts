import type { Committed, Opened, PolicyRole } from '../contracts/phases.ts';
import { files, inShards, sum } from './epoch-phases.ts';
import type { PhaseRunner, Phases } from './epoch-phases.ts';

/**
 * Epoch 0: warm policies, base and held-out tasks, and the agent's score before any training; with or without Temporal around it.
 * `together`: both policies warm up at once; runs that began before it was so have them in turn.
 */
export async function preparePhases(
  does: Phases,
  { run, settings }: Pick<Opened, 'run' | 'settings'>,
  { inPhase, seconds }: PhaseRunner,
  together = true,
): Promise<Committed> {
  const warmUp = (role: PolicyRole) => does.warmUp({ run, role });
  const [agent, environment] = together
    ? await inPhase('warm up', () => Promise.all([warmUp('agent'), warmUp('environment')]))
    : [
        await inPhase('warm up agent', () => warmUp('agent')),
        await inPhase('warm up environment', () => warmUp('environment')),
      ];
  const prepared = await inPhase('prepare', () => does.prepareRun({ run, agent, environment }));
  await inPhase('publish', () =>
    Promise.all([agent, environment].map((policy) => does.publishPolicy({ run, policy }))),
  );
  const written = settings.writesPool
    ? await inPhase('write pool', () => does.writePool({ run, epoch: 0, state: prepared }))
    : undefined;
  const gated =
    settings.gateEvery === undefined
      ? undefined
      : await inPhase('gate', () => does.gateAgent({ run, epoch: 0, state: prepared, agent }));
  const state = {
    ...prepared,
    ...(written && { task_pool: written.pool, tokens: written.tokens }),
    ...(gated && { anchor: gated.anchor }),
  };
  const verdicts = await inPhase('evaluate', () =>
    inShards(settings.shards.evaluate, (shard) =>
      does.evaluatePolicy({ run, epoch: 0, state, ...shard, agent }),
    ),
  );
  return does.commitEpoch({
    run,
    epoch: 0,
    outputs: {
      tasks: null,
      traces: [],
      rewards: null,
      scores: null,
      decisions: null,
      verdicts: files(verdicts),
    },
    next: state,
    metrics: [written?.metrics, gated?.metrics].filter((some) => some !== undefined),
    notes: [],
    retried: sum(verdicts, 'retried'),
    seconds: seconds(),
  });
}
