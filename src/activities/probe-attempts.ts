import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import type { ProbeAttempted, ProbeAttemptsInput } from '../contracts/comparisons.ts';
import type { PhaseInput } from '../contracts/phases.ts';
import type { ProbeOutcomeRecord, ProbeTraceRecord, Sampled, SeedTaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { isSolved } from '../worlds/is-solved.ts';
import { attempts } from './attempts.ts';
import { phase } from './phase.ts';
import type { Phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { planRequests } from './sample.ts';
import type { Planned, SampleCount } from './sample.ts';

/** The agent of an epoch attempts each probed task many times; what it sampled is kept, for gradients. */
export function createProbeAttempts(ports: Ports) {
  return (input: ProbeAttemptsInput): Promise<ProbeAttempted> =>
    phase(ports, 'probe-attempts', input, async (context) => {
      const tasks = await collect(ports.store.records<SeedTaskRecord>(input.tasks));
      const outcomes = new Map(
        tasks.map(({ id, spec }): [string, ProbeOutcomeRecord] => [
          id,
          { task_id: id, spec, difficulty: context.world.difficulty(spec), solved: [] },
        ]),
      );
      const traces = await ports.store.putRecords(
        (async function* (): AsyncGenerator<ProbeTraceRecord> {
          for await (const { task, attempt, reward, solved, sampled } of probed(
            ports,
            context,
            input,
            tasks,
            input.attempts,
            'probe-attempts',
          )) {
            outcomes.get(task.id)!.solved[attempt] = solved ? 1 : 0;
            yield { task_id: task.id, attempt, reward, sampled };
          }
        })(),
      );
      return { traces, outcomes: await ports.store.putRecords(outcomes.values()) };
    });
}

interface Probed {
  task: SeedTaskRecord;
  attempt: number;
  reward: number;
  solved: boolean;
  sampled: Sampled;
}

/** `count` attempts at each of the tasks, in rounds of as many as an epoch makes: requests are no larger than those of a run. */
export async function* probed(
  ports: Ports,
  context: Phase,
  { state, epoch }: PhaseInput,
  tasks: readonly SeedTaskRecord[],
  count: number,
  name: string,
): AsyncGenerator<Probed> {
  const { experiment, world } = context;
  const { seed, agent, durability } = experiment;
  const size = agent.rolloutsPerTask;
  const planned = Array.from(
    { length: Math.ceil(count / size) },
    (_, round): Planned<{ task: SeedTaskRecord; first: number }>[] =>
      planRequests(
        tasks.map((task) => ({ task, first: round * size })),
        durability.promptsPerRequest,
        (chunk, index) => ({
          model: state.agent.name,
          prompts: chunk.map(({ task: { spec } }) => world.agentPrompt(spec)),
          n: Math.min(size, count - round * size),
          seed: deriveSeed(seed, epoch, name, round, index),
          temperature: agent.sampling.temperature,
          maxTokens: agent.sampling.maxTokens,
        }),
      ),
  ).flat();
  const sampling: SampleCount = { tokens: 0, retried: 0 };
  const options = { requests: planned.length, policies: [state.agent], count: sampling, wordedBy: null };
  for await (const {
    item: { task, first },
    sample,
    sampled,
  } of attempts(ports, context, planned, ({ task: { spec } }) => spec, options)) {
    const attempt = first + sample;
    const { reward } = world.score(
      task.spec,
      sampled.text,
      randomStream(deriveSeed(sampled.seed, 'verdict', task.id, attempt)),
    );
    yield { task, attempt, reward, solved: isSolved(world, reward), sampled };
  }
}
