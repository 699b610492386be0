import { KeyedMutex } from '../../async/keyed-mutex.ts';
import type { Experiment } from '../../config/experiment.ts';
import { positionsFromScratch } from '../../config/models.ts';
import type { ModelSettings } from '../../config/models.ts';
import { servedName } from '../../config/policy-servers.ts';
import { dialogueTokens } from '../../inference/character-tokens.ts';
import { putServersToSleep } from '../../inference/sleeping-servers.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { weightsInRole } from '../../epochs/shared-weights.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { FileRef } from '../../store/references.ts';
import { NEUTRAL_JOB_SETTINGS } from '../../training/job-settings.ts';
import { trainPolicy } from '../../training/policy-update.ts';
import type { WarmUpInput } from '../../types/activity-inputs.ts';
import type { PolicyRole, PolicyVersion } from '../../types/run-state.ts';
import type { JobModel, JobSettings } from '../../types/training-job.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { CorpusRow, World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * The run id that warm-ups are recorded under, shared by all experiments of a store. No experiment may have
 * it.
 */
const sharedId = '_warm-up';

/** Settings of every warm-up. */
const sharedSettings = { betas: [0.9, 0.99], tokens_per_micro_batch: 65_536 } satisfies Partial<JobSettings>;

/** Enough for a matrix product to be efficient, few enough for the activations of a large model. */
const pretrainedTokensPerMicroBatch = 1024;

/**
 * Makes a policy's first weights. A from-scratch model is trained on the world's corpus, and so is a
 * pretrained one, or its new adapter, if the experiment says so; else it is taken as it is. The result is
 * recorded under what it depends on (model, corpus, seed, trainer), so it is made once: runs of one worker
 * that need the same one at the same time wait for the first.
 */
export function createWarmUp(dependencies: Dependencies) {
  const mutex = new KeyedMutex();
  return async ({ run, role }: WarmUpInput): Promise<PolicyVersion> => {
    const { store, activityContext } = dependencies;
    const experiment = await store.json<Experiment>(run.experiment);
    const { seed, world, trainer, durability } = experiment;
    // A server that nothing is published to has its own weights, under its own names.
    const name = servedName(experiment, role);
    if (name !== null) return { name, checkpoint: null, trainer_state: null };
    const isShared = experiment.environment.sharesWeights !== undefined;
    const corpora: readonly PolicyRole[] = isShared ? ['agent', 'environment'] : [role];
    const recipe = await store.putJson({
      seed,
      world,
      trainer,
      durability: { heartbeatSeconds: durability.heartbeatSeconds },
      ...Object.fromEntries(corpora.map((corpus) => [corpus, { model: experiment[corpus].model }])),
    });
    const { serving } = experiment;
    const policy = await mutex.runExclusive(recipe.sha256, activityContext(), () =>
      warmUpOnce(dependencies, recipe, corpora, { id: run.id, serving }),
    );
    return weightsInRole(policy, role, policy);
  };
}

/**
 * @param recipe the fields of an experiment that the weights depend on
 * @param corpora the roles that the model is warmed up for: two if it plays both
 * @param needed the run that needs it, among those that share it, and its servers
 */
function warmUpOnce(
  dependencies: Dependencies,
  recipe: FileRef,
  corpora: readonly PolicyRole[],
  needed: { id: string; serving: Experiment['serving'] },
): Promise<PolicyVersion> {
  const input = { run: { id: sharedId, experiment: recipe }, epoch: 0 };
  return runPhaseOnce(dependencies, `warm-up-${corpora.join('-')}`, input, async (context) => {
    const { experiment, world } = context;
    const role = corpora[0]!;
    const { model } = experiment[role];
    if (model.type === 'pretrained') await dependencies.requireModelFolder(`${role}.model.path`, model.path);
    const { heartbeat } = dependencies.activityContext();
    await putServersToSleep(dependencies, needed.serving);
    const { policy } = await trainPolicy(dependencies, context, {
      kind: 'supervised',
      phase: { run: needed.id, name: 'warm up' },
      role,
      epoch: 0,
      model,
      start: startOf(model, world),
      reference: null,
      trainerState: null,
      batch: await dependencies.store.putRecords(batchRecords(experiment, world, corpora, heartbeat)),
      settings: warmUpSettings(model, corpora.length),
    });
    // The optimizer's moments are of another loss: they would mislead the first updates.
    return { ...policy, trainer_state: null };
  });
}

function startOf(model: ModelSettings, world: World): JobModel {
  if (model.type === 'pretrained') return { path: model.path };
  const { hiddenSize, intermediateSize, layers, heads, initializerRange, tieEmbeddings } = model.architecture;
  return {
    scratch: {
      architecture: {
        model_type: 'llama',
        hidden_size: hiddenSize,
        intermediate_size: intermediateSize,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        num_key_value_heads: heads,
        max_position_embeddings: positionsFromScratch,
        initializer_range: initializerRange,
        tie_word_embeddings: tieEmbeddings,
      },
      vocabulary: world.vocabulary,
    },
  };
}

/** An item of each in turn, until all are at their end. */
function* takeTurns<Item>(sources: readonly Iterable<Item>[]): Generator<Item> {
  let open = sources.map((source) => source[Symbol.iterator]());
  while (open.length > 0) {
    const results = open.map((iterator) => iterator.next());
    open = open.filter((_, index) => results[index]!.done !== true);
    for (const result of results) if (result.done !== true) yield result.value;
  }
}

/**
 * The world's corpus, of each role in turn; none for a model without a warm-up.
 * @throws InvalidConfig if the world has none
 */
function* batchRecords(
  { seed, ...experiment }: Experiment,
  world: World,
  corpora: readonly PolicyRole[],
  heartbeat: (details: unknown) => void,
): Generator<object> {
  const role = corpora[0]!;
  const { model } = experiment[role];
  if (model.warmUp === undefined) return;
  const { rows, batch } = model.warmUp;
  let row = 0;
  const rowsOf = (corpus: PolicyRole) =>
    world.warmUpCorpus(corpus, rows, randomStream(deriveSeed(seed, 'warm-up', corpus)));
  for (const corpusRow of takeTurns(corpora.map(rowsOf))) {
    if (row % 1000 === 999) heartbeat({ phase: 'corpus', rows: row + 1 });
    const step = Math.floor(row / batch);
    row += 1;
    yield { step, ...trainedText(corpusRow, model, world.vocabulary), weight: 1 };
  }
  if (row === 0 && model.type === 'pretrained')
    throw new InvalidConfig(
      `${role}.model.warmUp: got ${rows} rows; the world "${world.name}" has no corpus for this role: leave warmUp out`,
    );
}

/**
 * A row as text, which the trainer tokenizes. The later turns of a model from scratch are token ids with a
 * mask.
 */
function trainedText(row: CorpusRow, { type }: ModelSettings, vocabulary: readonly string[]): object {
  const { prompt, completion, more } = row;
  if (more === undefined) return { prompt, completion };
  if (type === 'pretrained') return { prompt, completion, more };
  const laterTurns = more.flatMap(({ read, write }) => [read, write]);
  return dialogueTokens([prompt, completion, ...laterTurns], vocabulary);
}

/** A model without a warm-up takes no step. @param corpora of as many rows each */
function warmUpSettings({ type, warmUp }: ModelSettings, corpora: number): JobSettings {
  const settings = { ...NEUTRAL_JOB_SETTINGS, ...sharedSettings };
  if (warmUp === undefined) return { ...settings, learning_rate: 1e-5 };
  const { learningRate, warmupSteps, schedule, rows, batch } = warmUp;
  if (type === 'pretrained') settings.tokens_per_micro_batch = pretrainedTokensPerMicroBatch;
  return {
    ...settings,
    learning_rate: learningRate,
    warmup_steps: warmupSteps,
    schedule,
    schedule_steps: schedule === 'constant' ? null : Math.ceil((corpora * rows) / batch),
  };
}
