import { deriveSeed } from '../coevolution/seeds.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { RollOutInput, RunState, Sampling } from '../contracts/phases.ts';
import type { FileRef } from '../contracts/refs.ts';
import type { TaskRecord, TraceRecord } from '../contracts/records.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { answers, ofShard, planRequests, requestCount, policiesOf, sampled } from './sample.ts';
import type { Planned, SampleCount } from './sample.ts';
import { replayCount } from './draw-tasks.ts';

type Role = TraceRecord['role'];

/**
 * The agent attempts the epoch's tasks, n times each; the frozen initial agent attempts the new ones too, as a guard.
 * All attempts at a task are in one request, so a group is never torn.
 */
export function createRollOut(ports: Ports) {
  return (input: RollOutInput): Promise<Sampling> =>
    phase(ports, 'roll-out', input, async (context) => {
      const planned = ofShard(plan(context.experiment, input.epoch, input.state, await attempted(ports, input.tasks)), input.shard, input.shards);
      const count: SampleCount = { tokens: 0, retried: 0 };
      const file = await ports.store.putRecords(
        (async function* (): AsyncGenerator<TraceRecord> {
          for await (const { request, items, completions } of answers(ports, context, planned, { policies: policiesOf(input.state), count })) {
            for (const completion of completions) {
              const { task, role } = items[completion.prompt]!;
              const attempt = `${role === 'agent' ? 'rollout' : 'frozen'}-${String(completion.sample).padStart(2, '0')}`;
              yield { id: `${task.id}/${attempt}`, task_id: task.id, role, sampled: sampled(request, completion) };
            }
          }
        })(),
      );
      return { file, requests: planned.length, ...count };
    });
}

/** What is needed of the tasks to attempt: every shard reads them all. */
type Attempted = Pick<TaskRecord, 'id' | 'source' | 'prompt'>;

async function attempted({ store }: Ports, tasks: FileRef): Promise<Attempted[]> {
  const all: Attempted[] = [];
  for await (const { id, source, prompt, valid } of store.records<TaskRecord>(tasks)) if (valid) all.push({ id, source, prompt });
  return all;
}

function plan({ seed, agent, guards, durability }: Experiment, epoch: number, state: RunState, tasks: readonly Attempted[]): Planned<{ task: Attempted; role: Role }>[] {
  const requests = (role: Role, model: string, n: number, of: readonly Attempted[]): Planned<{ task: Attempted; role: Role }>[] =>
    planRequests(
      of.map((task) => ({ task, role })),
      durability.promptsPerRequest,
      (chunk, index) => ({
        model,
        prompts: chunk.map(({ task }) => task.prompt),
        n,
        seed: deriveSeed(seed, epoch, 'roll-out', role, index),
        temperature: agent.sampling.temperature,
        maxTokens: agent.sampling.maxTokens,
      }),
    );
  const frozen = guards.frozenSamples === 0 ? [] : requests('frozen', state.initial_agent.name, guards.frozenSamples, tasks.filter(({ source }) => source === 'new'));
  return [...requests('agent', state.agent.name, agent.rolloutsPerTask, tasks), ...frozen];
}

/** Most requests that an epoch's rollouts can take: all new tasks valid. */
export function rolloutRequests(experiment: Experiment): number {
  const { environment, durability, guards } = experiment;
  const fresh = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return requestCount(fresh + replayCount(experiment), durability.promptsPerRequest) + (guards.frozenSamples === 0 ? 0 : requestCount(fresh, durability.promptsPerRequest));
}
