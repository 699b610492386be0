import { KeyedMutex } from '../../async/keyed-mutex.ts';
import type { Experiment } from '../../config/experiment.ts';
import { positionsFromScratch } from '../../config/policies.ts';
import type { ModelSettings } from '../../config/policies.ts';
import { dialogueTokens } from '../../inference/character-tokens.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import { NEUTRAL_JOB_SETTINGS } from '../../training/job-settings.ts';
import { trainPolicy } from '../../training/policy-update.ts';
import type { PolicyVersion, WarmUpInput } from '../../types/activity-types.ts';
import type { JobModel, JobSettings } from '../../types/training-job.ts';
import type { CorpusRow, World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * What warm-ups are kept under, shared by all experiments of a store; no experiment may have an id like it.
 */
const sharedId = '_warm-up';

/**
 * A policy's first weights: a from-scratch model is trained on the world's corpus, a pretrained one is taken
 * as it is, with a fresh adapter if one is asked for. The result is kept under what it depends on (model,
 * corpus, seed, trainer), so it is made once: runs of one worker that need the same one at once wait for the
 * first.
 */
export function createWarmUp(dependencies: Dependencies) {
  const turns = new KeyedMutex();
  return async ({ run, role }: WarmUpInput): Promise<PolicyVersion> => {
    const { seed, world, trainer, durability, serving, ...rest } = await dependencies.store.json<Experiment>(
      run.experiment,
    );
    // A server that nothing is published to has its own weights, under its own names.
    if (serving.type === 'openai' && serving.publish === 'none' && serving.models !== null)
      return { name: serving.models[role], checkpoint: null, trainer_state: null };
    const recipe = await dependencies.store.putJson({
      seed,
      world,
      trainer,
      durability: { heartbeatSeconds: durability.heartbeatSeconds },
      [role]: { model: rest[role].model },
    });
    const make = (): Promise<PolicyVersion> =>
      runPhaseOnce(
        dependencies,
        `warm-up-${role}`,
        { run: { id: sharedId, experiment: recipe }, epoch: 0 },
        async (context) => {
          const { model } = context.experiment[role];
          const corpus =
            model.type === 'scratch'
              ? context.world.warmUpCorpus(
                  role,
                  model.warmUp.rows,
                  randomStream(deriveSeed(seed, 'warm-up', role)),
                )
              : [];
          const batch = await dependencies.store.putRecords(
            steps(corpus, model, context.world.vocabulary, dependencies.activityContext().heartbeat),
          );
          const { policy } = await trainPolicy(dependencies, context, {
            kind: 'supervised',
            role,
            epoch: 0,
            model,
            start: startOf(model, context.world),
            reference: null,
            trainerState: null,
            batch,
            settings: warmUpSettings(model),
          });
          // Moments of another loss would only mislead the first updates.
          return { ...policy, trainer_state: null };
        },
      );
    return turns.take(
      recipe.sha256,
      dependencies.activityContext(),
      durability.heartbeatSeconds * 1000,
      make,
    );
  };
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

function* steps(
  corpus: Iterable<CorpusRow>,
  model: ModelSettings,
  vocabulary: readonly string[],
  heartbeat: (details: unknown) => void,
): Generator<object> {
  const size = model.type === 'scratch' ? model.warmUp.batch : 1;
  let row = 0;
  for (const { prompt, completion, more } of corpus) {
    if (row % 1000 === 999) heartbeat({ phase: 'corpus', rows: row + 1 });
    const step = Math.floor(row++ / size);
    yield more === undefined
      ? { step, prompt, completion, weight: 1 }
      : {
          step,
          ...dialogueTokens(
            [prompt, completion, ...more.flatMap(({ read, write }) => [read, write])],
            vocabulary,
          ),
          weight: 1,
        };
  }
}

function warmUpSettings(model: ModelSettings): JobSettings {
  const { learningRate, warmupSteps, schedule, rows, batch } =
    model.type === 'scratch'
      ? model.warmUp
      : { learningRate: 1e-5, warmupSteps: 0, schedule: 'constant' as const, rows: 0, batch: 1 };
  return {
    ...NEUTRAL_JOB_SETTINGS,
    learning_rate: learningRate,
    warmup_steps: warmupSteps,
    schedule,
    schedule_steps: schedule === 'constant' ? null : Math.ceil(rows / batch),
    betas: [0.9, 0.99],
    tokens_per_micro_batch: 65_536,
  };
}
