import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import { successRate } from '../coevolution/success-rate.ts';
import type { CrossPlayCell, CrossPlayed, CrossPlayInput } from '../contracts/comparisons.ts';
import type { SeedTaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { attempts } from './attempts.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { planRequests } from './sample.ts';
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
      const met = (
        await Promise.all(
          input.tasks.map(async ({ epoch: simulator, file }) =>
            (await collect(ports.store.records<SeedTaskRecord>(file))).map((task): Met => ({
              ...task,
              simulator,
            })),
          ),
        )
      ).flat();
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
          // In the world's own words: what differs along the simulators is their tasks alone.
          const options = { requests: planned.length, policies: [state.agent], count, wordedBy: null };
          for await (const {
            item: { id, spec, simulator },
            sample,
            sampled: { text, seed: drawn },
          } of attempts(ports, context, planned, (task) => task.spec, options)) {
            const { reward } = world.score(
              spec,
              text,
              randomStream(deriveSeed(drawn, 'verdict', simulator, id, sample)),
            );
            rewards.get(simulator)!.push(reward);
            yield { simulator, task_id: id, sample, reward, answer: text };
          }
        })(),
      );
      const cells = [...rewards].map(([simulator, all]): CrossPlayCell => {
        const { successes, attempts } = successRate(all, world.solvedFrom);
        return { simulator, agent: epoch, successes, attempts };
      });
      return { cells, file };
    });
}
