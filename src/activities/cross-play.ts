import { deriveSeed } from '../coevolution/seeds.ts';
import { successRate } from '../coevolution/success-rate.ts';
import type { CrossPlayCell, CrossPlayed, CrossPlayInput } from '../contracts/comparisons.ts';
import type { SeedTaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { answers, planRequests } from './sample.ts';
import type { SampleCount } from './sample.ts';

type Met = SeedTaskRecord & { simulator: number };
type Attempt = { simulator: number; task_id: string; sample: number; reward: number; answer: string };

/** The agent of one epoch attempts the tasks of every epoch's simulator; the seeds are the same for every agent. */
export function createCrossPlay(ports: Ports) {
  return (input: CrossPlayInput): Promise<CrossPlayed> =>
    phase(ports, 'cross-play', input, async (context) => {
      const { experiment, world } = context;
      const { seed, agent, durability } = experiment;
      const { state, samples, epoch } = input;
      const met = (await Promise.all(input.tasks.map(async ({ epoch: simulator, file }) => (await collect(ports.store.records<SeedTaskRecord>(file))).map((task): Met => ({ ...task, simulator }))))).flat();
      const planned = planRequests(met, durability.promptsPerRequest, (chunk, index) => ({
        model: state.agent.name,
        prompts: chunk.map(({ spec }) => world.agentPrompt(spec)),
        n: samples,
        seed: deriveSeed(seed, 'cross-play', index),
        temperature: agent.sampling.temperature,
        maxTokens: agent.sampling.maxTokens,
      }));
      const count: SampleCount = { tokens: 0, retried: 0 };
      const rewards = new Map<number, number[]>(input.tasks.map(({ epoch: simulator }) => [simulator, []]));
      const file = await ports.store.putRecords(
        (async function* (): AsyncGenerator<Attempt> {
          for await (const { items, completions } of answers(ports, context, planned, { requests: planned.length, policies: [state.agent], count })) {
            for (const { prompt, sample, text } of completions) {
              const { id, spec, simulator } = items[prompt]!;
              const { reward } = world.score(spec, text);
              rewards.get(simulator)!.push(reward);
              yield { simulator, task_id: id, sample, reward, answer: text };
            }
          }
        })(),
      );
      const cells = [...rewards].map(([simulator, all]): CrossPlayCell => {
        const { successes, attempts } = successRate(all);
        return { simulator, agent: epoch, successes, attempts };
      });
      return { cells, file };
    });
}
