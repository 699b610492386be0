import { collect } from '../../async/streams.ts';
import { shownHistory } from '../../coevolution/agent-history.ts';
import type { AgentHistory } from '../../coevolution/agent-history.ts';
import { poolDraw } from '../../coevolution/training-pool.ts';
import { variationsWritten } from '../../config/arms.ts';
import { createExemplarDraw, isStarved, readParents } from '../../curriculum/epoch-tasks.ts';
import {
  confirmLabels,
  generateCandidates,
  rejectTooLong,
  structuredOutput,
} from '../../curriculum/generate-candidates.ts';
import type { Candidate } from '../../curriculum/generate-candidates.ts';
import { wordTasks } from '../../curriculum/word-tasks.ts';
import { taskFeatures } from '../../curriculum/task-features.ts';
import { epochId } from '../../formats/epoch-id.ts';
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
import type { GenerateTasksInput } from '../../types/activity-inputs.ts';
import type { Sampling } from '../../types/activity-types.ts';
import { roundSeeds, taskId } from '../../types/ids.ts';
import type { HistoryRecord, SeedTaskRecord, TaskRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/** A seed prompt: which task to vary, and which simulator is asked. */
interface SeedPrompt {
  prompt: number;
  simulator: 'current' | 'initial';
  text: string;
}

/**
 * Lets the simulator write this epoch's tasks (GenEnv, algorithm 1, phase 1): variations of seed tasks,
 * conditioned on the agent's history. A share of the prompts goes to the frozen initial simulator. Worlds may
 * let it repair invalid tasks, and confirm labels by a vote.
 */
export function createGenerateTasks(dependencies: Dependencies) {
  return (input: GenerateTasksInput): Promise<Sampling> =>
    runPhaseOnce(dependencies, 'generate', input, async (context) => {
      const { epoch, state, shard, shards } = input;
      const { agent } = await dependencies.store.json<HistoryRecord>(state.history);
      const history = shownHistory(agent, context.experiment.history);
      const planned = selectShard(
        planRequests(context, input, await seedPrompts(dependencies, context, input, history)),
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
            const { model, seed } = request.request;
            await wordTasks(client, context, candidates, { model, seed });
            await rejectTooLong(client, context, candidates, state.agent.name);
            const voter = { model: state.initial_agent.name, seed };
            await confirmLabels(client, context, candidates, voter);
            for (const candidate of candidates) yield taskRecord(context, epoch, history, candidate);
          }
        })(),
      );
      return { file, requests: planned.length, ...client.usage };
    });
}

/** The seed prompts of a whole round, in their order. Those of later rounds are numbered on. */
async function seedPrompts(
  dependencies: Dependencies,
  { experiment, world }: Phase,
  { epoch, state, round }: GenerateTasksInput,
  history: AgentHistory,
): Promise<SeedPrompt[]> {
  const count = experiment.environment.promptsPerEpoch;
  const base = await collect(dependencies.store.records<SeedTaskRecord>(state.base_tasks));
  const first = ((round?.number ?? 1) - 1) * count;
  const random = randomStream(deriveSeed(experiment.seed, epoch, 'contexts', ...roundSeeds(round)));
  const starved = await isStarved(dependencies, experiment, state);
  const { initial } = generationCounts(experiment, starved);
  const order = random.shuffle(Array.from({ length: count }, (_, prompt) => prompt));
  const forInitial = new Set(order.slice(0, initial));
  const parents = await readParents(dependencies, experiment, { epoch, state }, base);
  const exemplars = await createExemplarDraw(dependencies, experiment, epoch, state);
  const isInPasses = experiment.environment.seedOrder === 'passes';
  // As a data set of tasks, each round has passes over the base tasks of its own.
  const passSeed = deriveSeed(experiment.seed, 'seed-passes', ...roundSeeds(round));
  const places = isInPasses ? poolDraw(base.length, { count, epoch, seed: passSeed }) : undefined;
  return Array.from({ length: count }, (_, place): SeedPrompt => {
    const prompt = first + place;
    const simulator = forInitial.has(place) ? 'initial' : 'current';
    const { spec: baseSpec } = places === undefined ? random.pick(base) : base[places[place]!]!;
    // The initial simulator stays as it was: it is shown nothing that was learnt.
    const spec = parents === undefined || simulator === 'initial' ? baseSpec : random.pick(parents);
    const shown = simulator === 'current' ? exemplars(prompt) : [];
    const text =
      shown.length === 0
        ? world.environmentPrompt(history, spec)
        : world.exemplarPrompt!(history, spec, shown);
    return { prompt, simulator, text };
  });
}

function planRequests(
  { experiment, world }: Phase,
  { epoch, state, round }: GenerateTasksInput,
  prompts: readonly SeedPrompt[],
): PlannedRequest<SeedPrompt>[] {
  const { seed, durability } = experiment;
  const { sampling } = experiment.environment;
  const requestsTo = (simulator: 'current' | 'initial', model: string): PlannedRequest<SeedPrompt>[] =>
    batchPrompts(
      prompts.filter((prompt) => prompt.simulator === simulator),
      durability.promptsPerRequest,
      (chunk, index): CompletionRequest => ({
        model,
        prompts: chunk.map(({ text }) => text),
        n: variationsWritten(experiment),
        seed: deriveSeed(seed, epoch, 'generate', simulator, index, ...roundSeeds(round)),
        temperature: sampling.temperature,
        maxTokens: sampling.maxTokens,
        ...structuredOutput(experiment, world),
      }),
    );
  return [
    ...requestsTo('current', state.environment.name),
    ...requestsTo('initial', state.initial_environment.name),
  ];
}

function taskRecord(
  { experiment, world }: Phase,
  epoch: number,
  history: AgentHistory,
  { item, sample, prompt, sampled, parsed, repairs, worded, label }: Candidate<SeedPrompt>,
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
    ...(worded !== undefined && { worded }),
    ...(label && { label }),
    ...taskFeatures(world, parsed.valid ? parsed.spec : null),
    sampled,
  };
}
