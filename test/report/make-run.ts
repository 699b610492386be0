import { join } from 'node:path';
import type { Experiment } from '../../src/config/experiment.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import type { Metrics } from '../../src/types/run-state.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { makeEpoch, makeVerdicts } from './make-epoch.ts';
import type { Skill } from './make-epoch.ts';
import { evaluationMetrics, metricsOf } from './make-metrics.ts';

const model = {
  type: 'scratch',
  architecture: { hiddenSize: 48, layers: 2, heads: 4, intermediateSize: 144 },
  warmUp: { rows: 6400, batch: 64, learningRate: 3e-3 },
};

export function someExperiment(epochs: number): Experiment {
  return parseExperiment({
    name: 'barrier',
    seed: 7,
    epochs,
    arm: { type: 'genenv', preset: 'tuned' },
    world: { type: 'toolbox' },
    environment: { model, sampling: { maxTokens: 30 }, promptsPerEpoch: 8, variationsPerPrompt: 4 },
    agent: { model, sampling: { maxTokens: 30 } },
    evaluation: { every: Math.min(5, epochs) },
    durability: { requestTimeoutSeconds: 8, heartbeatSeconds: 10 },
  });
}

export interface MadeRun {
  home: string;
  runId: string;
  run: RunFolder;
  store: ObjectStore;
  experiment: Experiment;
}

/**
 * A run folder and its store, written through the real store: a simulator that starts too hard, overshoots to
 * easy tasks, and then follows an agent that learns. The same seed gives the same bytes, times included.
 */
export async function makeRun({
  home,
  runId = 'barrier-7',
  epochs = 40,
  planned = epochs,
  seed = 1,
}: {
  home: string;
  runId?: string;
  epochs?: number;
  planned?: number;
  seed?: number;
}): Promise<MadeRun> {
  const run = new RunFolder(join(home, 'runs'), runId);
  const store = new ObjectStore(join(home, 'store'));
  const experiment = someExperiment(planned);
  const world = createWorld(experiment.world);
  const random = randomStream(seed);
  const ledger = run.ledger(await run.writeExperiment(experiment));
  const heldOut = world.heldOutTasks(randomStream(99));
  const started = Date.parse('2026-11-21T09:00:00Z');
  const at = (epoch: number) => new Date(started + 4200 * epoch).toISOString();

  const evaluate = async (epoch: number, right: number) => {
    const verdicts = makeVerdicts(world, heldOut, { right, epoch }, random);
    return { verdicts: [await store.putRecords(verdicts)], metrics: evaluationMetrics(verdicts) };
  };
  const commit = async (
    epoch: number,
    outputs: Record<string, unknown>,
    metrics: Metrics,
    notes: string[],
  ) => {
    await ledger.append({ epoch, inputs: {}, outputs, metrics, notes });
    await run.appendMetrics({ epoch, metrics, time: timesOf(epoch), at: at(epoch) });
    for (const note of notes) await run.appendEvent({ type: 'note', epoch, note });
  };

  await run.appendEvent({ time: at(0), at: at(0), type: 'started' });
  const initial = await evaluate(0, skillAt(0).agent);
  await commit(0, { verdicts: initial.verdicts }, initial.metrics, []);
  let length = 14;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const skill: Skill = { epoch, ...skillAt(epoch), length };
    const files = makeEpoch(world, experiment, skill, random);
    const evaluation =
      epoch % 5 === 0 || epoch === epochs
        ? await evaluate(epoch, skill.agent)
        : { verdicts: [], metrics: {} };
    const metrics = { ...metricsOf(files, epoch, experiment.agent.rolloutsPerTask), ...evaluation.metrics };
    const outputs = {
      tasks: await store.putRecords(files.tasks),
      traces: [
        await store.putRecords(files.traces.slice(0, 140)),
        await store.putRecords(files.traces.slice(140)),
      ],
      rewards: await store.putRecords(files.rewards),
      scores: await store.putRecords(files.scores),
      decisions: await store.putRecords(files.decisions),
      verdicts: evaluation.verdicts,
    };
    await commit(
      epoch,
      outputs,
      metrics,
      epoch === 3 ? ['agent: no update, 1 informative group (2 needed)'] : [],
    );
    // Where half of the tasks are solved now; the simulator moves part of the way, too far at first.
    const wanted = Math.log(0.5) / Math.log(skill.agent);
    length = Math.max(1.2, length + (epoch < 7 ? 0.5 : 0.35) * ((epoch < 7 ? 0.35 : 1) * wanted - length));
    if (epoch === 12)
      await run.appendEvent({
        time: at(epoch),
        at: at(epoch),
        type: 'attempt',
        epoch,
        phase: 'trainAgent',
        attempt: 2,
        reason: 'heartbeat timeout',
      });
    if (epoch === 23) await run.appendEvent({ time: at(epoch), at: at(epoch), type: 'resumed', epoch });
  }
  if (epochs === planned)
    await run.appendEvent({
      time: at(epochs),
      at: at(epochs),
      type: 'ended',
      outcome: 'finished',
      epoch: epochs,
    });
  return { home, runId, run, store, experiment };
}

const skillAt = (epoch: number) => ({ agent: 0.955 - 0.275 * Math.exp(-epoch / 13), frozen: 0.68 });

function timesOf(epoch: number): Record<string, number> {
  const wave = 1 + 0.12 * Math.sin(epoch * 1.7);
  const time = {
    generate: 0.42 * wave,
    rollOut: 1.1 * wave,
    computeRewards: 0.08,
    filter: 0.03,
    updatePools: 0.05,
    trainAgent: 0.9 * wave,
    trainEnvironment: 0.7,
    publish: 0.06,
    evaluate: epoch % 5 === 0 ? 0.5 : 0,
    commit: 0.04,
  };
  return { ...time, epoch: Object.values(time).reduce((sum, seconds) => sum + seconds, 0.45) };
}
