import type { AgentHistory } from '../coevolution/agent-history.ts';
import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import { variationsWritten } from '../contracts/arms.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { RunState, Sampling, ShardInput } from '../contracts/phases.ts';
import type { HistoryRecord, SeedTaskRecord, TaskRecord } from '../contracts/records.ts';
import type { Completion, CompletionRequest } from '../policies/policy-server.ts';
import { collect } from '../store/collect.ts';
import type { World } from '../worlds/world.ts';
import { isStarved } from './is-starved.ts';
import { epochId, phase, taskId } from './phase.ts';
import type { Ports } from './ports.ts';
import { answers, generationCounts, ofShard, planRequests, policiesOf, sampled } from './sample.ts';
import type { Planned, SampleCount } from './sample.ts';

interface Context {
  prompt: number;
  simulator: 'current' | 'initial';
  text: string;
}

/**
 * The simulator writes this epoch's tasks (GenEnv, algorithm 1, phase 1): variations of seed tasks, conditioned on the
 * agent's history. A stated share of the prompts goes to the frozen initial simulator.
 */
export function createGenerateTasks(ports: Ports) {
  return (input: ShardInput): Promise<Sampling> =>
    phase(ports, 'generate', input, async (context) => {
      const { experiment, world } = context;
      const { epoch, state, shard, shards } = input;
      const starved = await isStarved(ports, experiment, state);
      const { agent: history } = await ports.store.json<HistoryRecord>(state.history);
      const base = await collect(ports.store.records<SeedTaskRecord>(state.base_tasks));
      const planned = ofShard(plan(experiment, epoch, state, contexts(experiment, epoch, world, history, base, starved)), shard, shards);
      const count: SampleCount = { tokens: 0, retried: 0 };
      const file = await ports.store.putRecords(
        (async function* () {
          for await (const { request, items, completions } of answers(ports, context, planned, { requests: planned.length, policies: policiesOf(state), count })) {
            for (const completion of completions) yield taskRecord(experiment, epoch, world, history, request, items[completion.prompt]!, completion);
          }
        })(),
      );
      return { file, requests: planned.length, ...count };
    });
}

/** One context for each seed prompt of the epoch: which task to vary, and which simulator is asked. */
function contexts(experiment: Experiment, epoch: number, world: World, history: AgentHistory, base: readonly SeedTaskRecord[], starved: boolean): Context[] {
  const random = randomStream(deriveSeed(experiment.seed, epoch, 'contexts'));
  const { initial } = generationCounts(experiment, starved);
  const asksInitial = new Set(random.shuffle(Array.from({ length: experiment.environment.promptsPerEpoch }, (_, index) => index)).slice(0, initial));
  return Array.from({ length: experiment.environment.promptsPerEpoch }, (_, prompt) => ({
    prompt,
    simulator: asksInitial.has(prompt) ? 'initial' : 'current',
    text: world.environmentPrompt(history, random.pick(base).spec),
  }));
}

function plan(experiment: Experiment, epoch: number, state: RunState, all: readonly Context[]): Planned<Context>[] {
  const { seed, durability } = experiment;
  const { sampling } = experiment.environment;
  const requests = (simulator: 'current' | 'initial', model: string): Planned<Context>[] =>
    planRequests(
      all.filter((context) => context.simulator === simulator),
      durability.promptsPerRequest,
      (chunk, index): CompletionRequest => ({
        model,
        prompts: chunk.map(({ text }) => text),
        n: variationsWritten(experiment),
        seed: deriveSeed(seed, epoch, 'generate', simulator, index),
        temperature: sampling.temperature,
        maxTokens: sampling.maxTokens,
      }),
    );
  return [...requests('current', state.environment.name), ...requests('initial', state.initial_environment.name)];
}

function taskRecord(experiment: Experiment, epoch: number, world: World, history: AgentHistory, request: CompletionRequest, context: Context, completion: Completion): TaskRecord {
  const parsed = completion.finish_reason === 'length' ? { valid: false as const, reason: 'cut_off' } : world.parseTask(completion.text);
  return {
    id: taskId(epoch, context.prompt * variationsWritten(experiment) + completion.sample),
    source: 'new',
    batch_id: `${epochId(epoch)}/prompt-${String(context.prompt).padStart(2, '0')}`,
    context: context.text,
    history_success: history.success,
    simulator: context.simulator,
    valid: parsed.valid,
    invalid_reason: parsed.valid ? '' : parsed.reason,
    repeats: 0,
    ...described(world, parsed.valid ? parsed.spec : null),
    sampled: sampled(request, completion),
  };
}

/** What code says about a task. */
export function described(world: World, spec: string | null): Pick<TaskRecord, 'spec' | 'prompt' | 'kind' | 'difficulty' | 'latents'> {
  if (spec === null) return { spec, prompt: '', kind: '', difficulty: 0, latents: {} };
  return { spec, prompt: world.agentPrompt(spec), kind: world.kind(spec), difficulty: world.difficulty(spec), latents: world.latents(spec) };
}
