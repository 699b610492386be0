import { collect } from '../../async/streams.ts';
import type { Experiment } from '../../config/experiment.ts';
import { PROMPT_TOO_LONG } from '../../inference/policy-client.ts';
import { probabilityOf } from '../../numerics/arithmetic.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import {
  batchPrompts,
  isUnanswered,
  openCompletionClient,
  selectShard,
  unansweredNote,
} from '../../rollouts/completion-requests.ts';
import type { CompletionClient, PlannedRequest } from '../../rollouts/completion-requests.ts';
import { streamRollouts } from '../../rollouts/rollout-loop.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { EvaluateInput } from '../../types/activity-inputs.ts';
import type { Sampling } from '../../types/activity-types.ts';
import type { SeedTaskRecord, VerdictRecord } from '../../types/records.ts';
import { isSolved } from '../../worlds/world.ts';
import type { World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/** Evaluates the agent on the held-out tasks, with the same seeds every time, outside the rollout budget. */
export function createEvaluatePolicy(dependencies: Dependencies) {
  return (input: EvaluateInput): Promise<Sampling> =>
    runPhaseOnce(dependencies, 'evaluate', input, async (context) => {
      const { experiment, world } = context;
      const tasks = await collect(dependencies.store.records<SeedTaskRecord>(input.state.held_out));
      const planned = selectShard(
        planRequests(experiment, input.agent.name, tasks, world.agentPrompt),
        input.shard,
        input.shards,
      );
      await using client = await openCompletionClient(dependencies, context, {
        requests: planned.length,
        policies: [input.agent],
      });
      const { exact = false, logprob = false } = experiment.evaluation;
      const logprobs =
        exact || logprob ? await rightAnswers(client, world, planned) : new Map<string, number>();
      const tooLong = new Set<string>();
      const file = await dependencies.store.putRecords(
        (async function* (): AsyncGenerator<VerdictRecord> {
          // In the world's own words, so that agents of different simulators are compared on the same tasks.
          const rollouts = streamRollouts(client, context, planned, {
            specOf: (task) => task.spec,
            simulator: null,
          });
          for await (const { item, sample, sampled } of rollouts) {
            const { id, spec } = item;
            const { text, policy_version, seed } = sampled;
            const isAnswered = !isUnanswered(sampled);
            if (!isAnswered) tooLong.add(id);
            const verdict = randomStream(deriveSeed(seed, 'verdict', id, sample));
            const reward = isAnswered ? world.score(spec, text, verdict, sampled.similarity).reward : 0;
            yield {
              task_id: id,
              kind: world.kind(spec),
              difficulty: world.difficulty(spec),
              sample,
              reward,
              ...(sample === 0 && {
                ...(exact && { probability: probabilityOf(logprobs.get(id) ?? -Infinity) }),
                ...(logprob && logprobs.has(id) && { logprob: logprobs.get(id)! }),
              }),
              ...(world.solvedFrom !== undefined && { solved: isSolved(world, reward) }),
              answer: text,
              ...(!isAnswered && { reason: PROMPT_TOO_LONG }),
              policy_version,
              seed,
            };
          }
        })(),
      );
      const note = unansweredNote(input.agent.name, 'held-out tasks count as not solved,', tooLong);
      return { file, requests: planned.length, ...client.usage, ...(note !== undefined && { note }) };
    });
}

/** Log-probability of the reference answer to each task that the agent has room to answer. */
async function rightAnswers(
  client: Pick<CompletionClient, 'completionLogprobs' | 'hasRoomFor'>,
  world: World,
  planned: readonly PlannedRequest<SeedTaskRecord>[],
): Promise<Map<string, number>> {
  const logprobs = new Map<string, number>();
  for (const { request, items } of planned) {
    const fitting: SeedTaskRecord[] = [];
    for (const task of items)
      if (await client.hasRoomFor(request, world.agentPrompt(task.spec))) fitting.push(task);
    if (fitting.length === 0) continue;
    const answers = await client.completionLogprobs({
      model: request.model,
      prompts: fitting.map(({ spec }) => world.agentPrompt(spec)),
      completions: fitting.map(({ spec }) => world.referenceAnswer(spec)),
    });
    for (const [index, { id }] of fitting.entries()) logprobs.set(id, answers[index]!);
  }
  return logprobs;
}

function planRequests(
  { seed, agent, evaluation, durability }: Experiment,
  model: string,
  tasks: readonly SeedTaskRecord[],
  prompt: (spec: string) => string,
): PlannedRequest<SeedTaskRecord>[] {
  return batchPrompts(tasks, durability.promptsPerRequest, (chunk, index) => ({
    model,
    prompts: chunk.map(({ spec }) => prompt(spec)),
    n: evaluation.samples,
    seed: deriveSeed(seed, 'evaluate', index),
    temperature: evaluation.temperature,
    maxTokens: agent.sampling.maxTokens,
  }));
}
