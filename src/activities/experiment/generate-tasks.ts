import { collect } from '../../async/streams.ts';
import type { AgentHistory } from '../../coevolution/agent-history.ts';
import { variationsWritten } from '../../config/arms.ts';
import { createExemplarDraw, isStarved } from '../../curriculum/epoch-tasks.ts';
import { confirmLabels, generateCandidates, structuredOutput } from '../../curriculum/generate-candidates.ts';
import type { Candidate } from '../../curriculum/generate-candidates.ts';
import { taskFeatures } from '../../curriculum/task-features.ts';
import type { CompletionRequest } from '../../inference/policy-client.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import {
  batchPrompts,
  epochPolicies,
  openCompletionClient,
  selectShard,
} from '../../rollouts/completion-requests.ts';
import type { PlannedRequest } from '../../rollouts/completion-requests.ts';
import { generationCounts } from '../../runs/request-plan.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import type { RunState, Sampling, ShardInput } from '../../types/activity-types.ts';
import { epochId, taskId } from '../../types/ids.ts';
import type { HistoryRecord, SeedTaskRecord, TaskRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

interface Context {
  prompt: number;
  simulator: 'current' | 'initial';
  text: string;
}

/**
 * The simulator writes this epoch's tasks (GenEnv, algorithm 1, phase 1): variations of seed tasks,
 * conditioned on the agent's history. A stated share of the prompts goes to the frozen initial simulator.
 * What is no task is asked for again, and labels are put to a vote, in worlds that say so.
 */
export function createGenerateTasks(dependencies: Dependencies) {
  return (input: ShardInput): Promise<Sampling> =>
    runPhaseOnce(dependencies, 'generate', input, async (context) => {
      const { experiment } = context;
      const { epoch, state, shard, shards } = input;
      const starved = await isStarved(dependencies, experiment, state);
      const { agent: history } = await dependencies.store.json<HistoryRecord>(state.history);
      const planned = selectShard(
        plan(context, epoch, state, await contexts(dependencies, context, input, history, starved)),
        shard,
        shards,
      );
      await using client = await openCompletionClient(dependencies, context, {
        requests: planned.length,
        policies: epochPolicies(state),
      });
      const file = await dependencies.store.putRecords(
        (async function* () {
          for (const request of planned) {
            const candidates = await generateCandidates(client, context, request);
            const solver = { model: state.initial_agent.name, seed: request.request.seed };
            await confirmLabels(client, context, candidates, solver);
            for (const candidate of candidates) yield taskRecord(context, epoch, history, candidate);
          }
        })(),
      );
      return { file, requests: planned.length, ...client.usage };
    });
}

/** One context for each seed prompt of the epoch: which task to vary, and which simulator is asked. */
async function contexts(
  dependencies: Dependencies,
  { experiment, world }: Phase,
  { epoch, state }: ShardInput,
  history: AgentHistory,
  starved: boolean,
): Promise<Context[]> {
  const base = await collect(dependencies.store.records<SeedTaskRecord>(state.base_tasks));
  const random = randomStream(deriveSeed(experiment.seed, epoch, 'contexts'));
  const { initial } = generationCounts(experiment, starved);
  const asksInitial = new Set(
    random
      .shuffle(Array.from({ length: experiment.environment.promptsPerEpoch }, (_, index) => index))
      .slice(0, initial),
  );
  const exemplars = await createExemplarDraw(dependencies, experiment, epoch, state);
  return Array.from({ length: experiment.environment.promptsPerEpoch }, (_, prompt) => {
    const simulator = asksInitial.has(prompt) ? 'initial' : 'current';
    const { spec } = random.pick(base);
    // The initial simulator stays what it was: it is shown nothing of what was learnt.
    const shown = simulator === 'current' ? exemplars(prompt) : [];
    return {
      prompt,
      simulator,
      text:
        shown.length === 0
          ? world.environmentPrompt(history, spec)
          : world.exemplarPrompt!(history, spec, shown),
    };
  });
}

function plan(
  { experiment, world }: Phase,
  epoch: number,
  state: RunState,
  all: readonly Context[],
): PlannedRequest<Context>[] {
  const { seed, durability } = experiment;
  const { sampling } = experiment.environment;
  const requests = (simulator: 'current' | 'initial', model: string): PlannedRequest<Context>[] =>
    batchPrompts(
      all.filter((context) => context.simulator === simulator),
      durability.promptsPerRequest,
      (chunk, index): CompletionRequest => ({
        model,
        prompts: chunk.map(({ text }) => text),
        n: variationsWritten(experiment),
        seed: deriveSeed(seed, epoch, 'generate', simulator, index),
        temperature: sampling.temperature,
        maxTokens: sampling.maxTokens,
        ...structuredOutput(experiment, world),
      }),
    );
  return [
    ...requests('current', state.environment.name),
    ...requests('initial', state.initial_environment.name),
  ];
}

function taskRecord(
  { experiment, world }: Phase,
  epoch: number,
  history: AgentHistory,
  { item, sample, prompt, sampled, parsed, repairs, label }: Candidate<Context>,
): TaskRecord {
  return {
    id: taskId(epoch, item.prompt * variationsWritten(experiment) + sample),
    source: 'new',
    batch_id: `${epochId(epoch)}/prompt-${String(item.prompt).padStart(2, '0')}`,
    context: prompt,
    history_success: history.success,
    simulator: item.simulator,
    valid: parsed.valid,
    invalid_reason: parsed.valid ? '' : parsed.reason,
    repeats: 0,
    ...(repairs !== undefined && { repairs }),
    ...(label && { label }),
    ...taskFeatures(world, parsed.valid ? parsed.spec : null),
    sampled,
  };
}
