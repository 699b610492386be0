import { chunks, filterStream } from '../../async/streams.ts';
import type { Experiment } from '../../config/experiment.ts';
import { deriveSeed } from '../../numerics/random.ts';
import { epochPolicies, openCompletionClient } from '../../rollouts/completion-requests.ts';
import type { PlannedRequest } from '../../rollouts/completion-requests.ts';
import { streamRollouts } from '../../rollouts/rollout-loop.ts';
import { requestCount } from '../../runs/request-plan.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { FileRef } from '../../store/references.ts';
import type { RollOutInput, Sampling } from '../../types/activity-types.ts';
import type { TaskRecord, TraceRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

type Role = TraceRecord['role'];

/**
 * The agent attempts the epoch's tasks, n times each; the frozen initial agent attempts the new ones too, as
 * a guard. All attempts at a task are in one request, so a group is never torn.
 */
export function createRollOut(dependencies: Dependencies) {
  return (input: RollOutInput): Promise<Sampling> =>
    runPhaseOnce(dependencies, 'roll-out', input, async (context) => {
      const { requests, planned } = await plan(dependencies, context.experiment, input);
      await using client = await openCompletionClient(dependencies, context, {
        requests,
        policies: epochPolicies(input.state),
      });
      const file = await dependencies.store.putRecords(
        (async function* (): AsyncGenerator<TraceRecord> {
          const rollouts = streamRollouts(client, context, planned, {
            specOf: ({ task }) => task.spec,
            simulator: input.state.environment,
          });
          for await (const { item, sample, ...rest } of rollouts) {
            const { task, role } = item;
            const name = `${role === 'agent' ? 'rollout' : 'frozen'}-${String(sample).padStart(2, '0')}`;
            yield { id: `${task.id}/${name}`, task_id: task.id, role, ...rest };
          }
        })(),
      );
      return { file, requests, ...client.usage };
    });
}

/** What is needed of a task to attempt it. */
type Attempted = Pick<TaskRecord, 'id' | 'source' | 'prompt'> & { spec: string };

async function* attempted({ store }: Dependencies, tasks: FileRef): AsyncGenerator<Attempted> {
  for await (const { id, source, prompt, spec } of store.records<TaskRecord>(tasks))
    if (spec !== null) yield { id, source, prompt, spec };
}

/**
 * The requests of one shard, every `shards`-th of the epoch's, and how many they are. The tasks are counted
 * first and then read again as requests are made, since all of an epoch in each shard would be most of a
 * worker's memory.
 */
async function plan(
  dependencies: Dependencies,
  { seed, agent, guards, durability }: Experiment,
  { epoch, state, tasks, shard, shards }: RollOutInput,
) {
  const size = durability.promptsPerRequest;
  const isNew = ({ source }: Attempted): boolean => source === 'new';
  let [all, fresh] = [0, 0];
  for await (const task of attempted(dependencies, tasks)) {
    all += 1;
    if (isNew(task)) fresh += 1;
  }
  const agentRequests = requestCount(all, size);
  const whole = agentRequests + (guards.frozenSamples === 0 ? 0 : requestCount(fresh, size));

  async function* requests(
    role: Role,
    model: string,
    n: number,
    of: AsyncIterable<Attempted>,
    first: number,
  ): AsyncGenerator<PlannedRequest<{ task: Attempted; role: Role }>> {
    let index = 0;
    for await (const chunk of chunks(of, size)) {
      if ((first + index) % shards === shard) {
        const request = {
          model,
          prompts: chunk.map(({ prompt }) => prompt),
          n,
          seed: deriveSeed(seed, epoch, 'roll-out', role, index),
          temperature: agent.sampling.temperature,
          maxTokens: agent.sampling.maxTokens,
        };
        yield { request, items: chunk.map((task) => ({ task, role })) };
      }
      index += 1;
    }
  }
  async function* planned(): AsyncGenerator<PlannedRequest<{ task: Attempted; role: Role }>> {
    yield* requests('agent', state.agent.name, agent.rolloutsPerTask, attempted(dependencies, tasks), 0);
    if (guards.frozenSamples > 0)
      yield* requests(
        'frozen',
        state.initial_agent.name,
        guards.frozenSamples,
        filterStream(attempted(dependencies, tasks), isNew),
        agentRequests,
      );
  }
  return { requests: Math.max(0, Math.ceil((whole - shard) / shards)), planned: planned() };
}
