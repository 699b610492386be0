/** Attempts of an agent at given tasks outside the rollout budget: to measure how often it solves them. */
import { deriveSeed, randomStream } from '../numerics/random.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { PolicyVersion } from '../types/run-state.ts';
import type { Sampled } from '../types/records.ts';
import type { TaskSpec } from '../worlds/world.ts';
import { isSolved } from '../worlds/world.ts';
import { batchPrompts, isUnanswered, openCompletionClient } from './completion-requests.ts';
import type { ModelDependencies, PlannedRequest } from './completion-requests.ts';
import { streamRollouts } from './rollout-loop.ts';

export interface TaskAttempt<Task> {
  task: Task;
  attempt: number;
  reward: number;
  solved: boolean;
  sampled: Sampled;
}

export interface AttemptPlan<Task> {
  agent: PolicyVersion;
  tasks: readonly Task[];
  /** Number of attempts at each task. */
  attempts: number;
  /** Goes into the sampling seeds, after the experiment's own. */
  seedPath: readonly (string | number)[];
}

/**
 * Attempts the tasks in rounds of a group's size, so that requests are no larger than those of a run. A prompt
 * that is too long counts as not solved.
 */
export async function* attemptTasks<Task extends { id: string; spec: TaskSpec }>(
  dependencies: ModelDependencies,
  context: Phase,
  { agent: policy, tasks, attempts, seedPath }: AttemptPlan<Task>,
): AsyncGenerator<TaskAttempt<Task>> {
  const { experiment, world } = context;
  const { seed, agent, durability } = experiment;
  const size = agent.rolloutsPerTask;
  const planned = Array.from(
    { length: Math.ceil(attempts / size) },
    (_, round): PlannedRequest<{ task: Task; first: number }>[] =>
      batchPrompts(
        tasks.map((task) => ({ task, first: round * size })),
        durability.promptsPerRequest,
        (chunk, index) => ({
          model: policy.name,
          prompts: chunk.map(({ task: { spec } }) => world.agentPrompt(spec)),
          n: Math.min(size, attempts - round * size),
          seed: deriveSeed(seed, ...seedPath, round, index),
          temperature: agent.sampling.temperature,
          maxTokens: agent.sampling.maxTokens,
        }),
      ),
  ).flat();
  await using client = await openCompletionClient(dependencies, context, {
    requests: planned.length,
    policies: [policy],
  });
  const rollouts = streamRollouts(client, context, planned, {
    specOf: ({ task }) => task.spec,
    simulator: null,
  });
  for await (const { item, sample, sampled } of rollouts) {
    const { task, first } = item;
    const attempt = first + sample;
    const verdict = randomStream(deriveSeed(sampled.seed, 'verdict', task.id, attempt));
    const reward = isUnanswered(sampled)
      ? 0
      : world.score(task.spec, sampled.text, verdict, sampled.similarity).reward;
    yield { task, attempt, reward, solved: isSolved(world, reward), sampled };
  }
}
