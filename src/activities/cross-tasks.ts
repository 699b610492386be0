import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import type { CrossTasksInput } from '../contracts/comparisons.ts';
import type { FileRef } from '../contracts/refs.ts';
import type { HistoryRecord, SeedTaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { readTask } from './contamination-guard.ts';
import { heldTo } from './drafts.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { answers, planRequests } from './sample.ts';
import type { SampleCount } from './sample.ts';

/**
 * Tasks that the simulator of one epoch writes, told what it was told of its own agent then. Seed tasks and sampling seeds are the same
 * for every epoch, so that the simulators differ in nothing else. What is no task is left out.
 */
export function createCrossTasks(ports: Ports) {
  return (input: CrossTasksInput): Promise<FileRef> =>
    phase(ports, 'cross-tasks', input, async (context) => {
      const { experiment, world } = context;
      const { state, tasks } = input;
      const { seed, environment, durability } = experiment;
      const { agent: history } = await ports.store.json<HistoryRecord>(state.history);
      const base = await collect(ports.store.records<SeedTaskRecord>(state.base_tasks));
      const random = randomStream(deriveSeed(seed, 'cross-tasks', 'contexts'));
      const prompts = Array.from({ length: tasks }, () =>
        world.environmentPrompt(history, random.pick(base).spec),
      );
      const planned = planRequests(prompts, durability.promptsPerRequest, (chunk, index) => ({
        model: state.environment.name,
        prompts: chunk,
        n: 1,
        seed: deriveSeed(seed, 'cross-tasks', index),
        temperature: environment.sampling.temperature,
        maxTokens: environment.sampling.maxTokens,
        ...heldTo(experiment, world),
      }));
      const count: SampleCount = { tokens: 0, retried: 0 };
      let written = 0;
      return ports.store.putRecords(
        (async function* (): AsyncGenerator<SeedTaskRecord> {
          for await (const { completions } of answers(ports, context, planned, {
            requests: planned.length,
            policies: [state.environment],
            count,
          })) {
            for (const { text, finish_reason } of completions) {
              const id = `task-${String(written++).padStart(3, '0')}`;
              const parsed = finish_reason === 'length' ? undefined : readTask(world, text);
              // A label that nobody has confirmed decides nothing between simulators.
              if (parsed?.valid === true && world.vote?.needed(parsed.spec) !== true)
                yield { id, spec: parsed.spec };
            }
          }
        })(),
      );
    });
}
