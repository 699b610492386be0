import { chunks, filterStream } from '../../async/streams.ts';
import type { Experiment } from '../../config/experiment.ts';
import { deriveSeed } from '../../numerics/random.ts';
import {
  epochPolicies,
  isUnanswered,
  openCompletionClient,
  unansweredNote,
} from '../../rollouts/completion-requests.ts';
import type { PlannedRequest } from '../../rollouts/completion-requests.ts';
import { drawRandomAnswers, randomAnswersSeed, similaritiesOf } from '../../rollouts/answer-similarity.ts';
import { streamRollouts } from '../../rollouts/rollout-loop.ts';
import { requestCount } from '../../runs/request-plan.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { RollOutInput } from '../../types/activity-inputs.ts';
import type { Sampling } from '../../types/activity-types.ts';
import { roundSeeds, taskIndex } from '../../types/ids.ts';
import type { TaskRecord, TraceRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

type Role = TraceRecord['role'];

/**
 * Rolls out the epoch's tasks: n rollouts of each by the agent, and as a guard some of the new ones by the
 * frozen initial agent. All rollouts of a group are in one request, so a group is never split.
 */
export function createRunRollouts(dependencies: Dependencies) {
  return (input: RollOutInput): Promise<Sampling> =>
    runPhaseOnce(dependencies, 'roll-out', input, async (context) => {
      const { requests, planned } = await plan(dependencies, context.experiment, input);
      await using client = await openCompletionClient(dependencies, context, {
        requests,
        policies: epochPolicies(input.state),
      });
      const { seed, guards } = context.experiment;
      const compareRandomAnswers = ({ id, spec }: RolloutTask) => {
        const taskSeed = randomAnswersSeed(seed, input.epoch, id);
        const answers = drawRandomAnswers(context.world, spec, taskSeed, guards.randomAttempts);
        return similaritiesOf(client, context.world, spec, answers);
      };
      const tooLong = new Set<string>();
      const file = await dependencies.store.putRecords(
        (async function* (): AsyncGenerator<TraceRecord> {
          const rollouts = streamRollouts(client, context, planned, {
            specOf: ({ task }) => task.spec,
            simulator: input.state.environment,
          });
          for await (const { item, sample, ...rest } of rollouts) {
            const { task, role } = item;
            if (role === 'agent' && isUnanswered(rest.sampled)) tooLong.add(task.id);
            const name = `${role === 'agent' ? 'rollout' : 'frozen'}-${String(sample).padStart(2, '0')}`;
            const random = role === 'agent' && sample === 0 ? await compareRandomAnswers(task) : undefined;
            yield {
              id: `${task.id}/${name}`,
              task_id: task.id,
              role,
              ...rest,
              ...(random && { random_similarities: random }),
            };
          }
        })(),
      );
      const note = unansweredNote(input.state.agent.name, 'roll out: tasks', tooLong);
      return { file, requests, ...client.usage, ...(note !== undefined && { note }) };
    });
}

/** What a rollout needs of a valid task. */
type RolloutTask = Pick<TaskRecord, 'id' | 'source' | 'prompt'> & { spec: string };
type RolloutRequest = PlannedRequest<{ task: RolloutTask; role: Role }>;

/** The valid tasks of a round: those of earlier rounds are the first of the file. */
async function* readRolloutTasks(
  { store }: Dependencies,
  { tasks, round }: Pick<RollOutInput, 'tasks' | 'round'>,
): AsyncGenerator<RolloutTask> {
  const first = round?.drawn.count ?? 0;
  for await (const { id, source, prompt, spec } of store.records<TaskRecord>(tasks))
    if (spec !== null && taskIndex(id) >= first) yield { id, source, prompt, spec };
}

const isNew = ({ source }: RolloutTask): boolean => source === 'new';

/** One role's part of an epoch's requests. */
interface RolePlan {
  role: Role;
  model: string;
  rolloutsPerTask: number;
  tasks: AsyncIterable<RolloutTask>;
  /** Place of the first of these requests among all requests of the epoch. */
  firstRequest: number;
}

/**
 * Plans the requests of one shard: every `shards`-th of the epoch's. The tasks are read once to count them
 * and again as requests are made, since the tasks of a whole epoch in each shard would fill most of a
 * worker's memory.
 * @returns the requests and their number
 */
async function plan(
  dependencies: Dependencies,
  { seed, agent, guards, durability }: Experiment,
  input: RollOutInput,
): Promise<{ requests: number; planned: AsyncGenerator<RolloutRequest> }> {
  const { epoch, state, shard, shards, round } = input;
  const size = durability.promptsPerRequest;
  let [taskCount, newCount] = [0, 0];
  for await (const task of readRolloutTasks(dependencies, input)) {
    taskCount += 1;
    if (isNew(task)) newCount += 1;
  }
  const agentRequests = requestCount(taskCount, size);
  const frozenRequests = guards.frozenSamples === 0 ? 0 : requestCount(newCount, size);
  const epochRequests = agentRequests + frozenRequests;

  async function* requestsOf(rolePlan: RolePlan): AsyncGenerator<RolloutRequest> {
    const { role, model, rolloutsPerTask, firstRequest } = rolePlan;
    let index = 0;
    for await (const chunk of chunks(rolePlan.tasks, size)) {
      if ((firstRequest + index) % shards === shard) {
        const request = {
          model,
          prompts: chunk.map(({ prompt }) => prompt),
          n: rolloutsPerTask,
          seed: deriveSeed(seed, epoch, 'roll-out', role, index, ...roundSeeds(round)),
          temperature: agent.sampling.temperature,
          maxTokens: agent.sampling.maxTokens,
        };
        yield { request, items: chunk.map((task) => ({ task, role })) };
      }
      index += 1;
    }
  }

  async function* planned(): AsyncGenerator<RolloutRequest> {
    yield* requestsOf({
      role: 'agent',
      model: state.agent.name,
      rolloutsPerTask: agent.rolloutsPerTask,
      tasks: readRolloutTasks(dependencies, input),
      firstRequest: 0,
    });
    if (guards.frozenSamples > 0)
      yield* requestsOf({
        role: 'frozen',
        model: state.initial_agent.name,
        rolloutsPerTask: guards.frozenSamples,
        tasks: filterStream(readRolloutTasks(dependencies, input), isNew),
        firstRequest: agentRequests,
      });
  }

  return { requests: Math.max(0, Math.ceil((epochRequests - shard) / shards)), planned: planned() };
}
