import { collect } from '../../async/streams.ts';
import { shownHistory } from '../../coevolution/agent-history.ts';
import { successRate } from '../../coevolution/success-rate.ts';
import { parseCandidate, structuredOutput } from '../../curriculum/generate-candidates.ts';
import { isCutShort } from '../../inference/policy-client.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { batchPrompts, isUnanswered, openCompletionClient } from '../../rollouts/completion-requests.ts';
import { streamRollouts } from '../../rollouts/rollout-loop.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import type { CrossPlayCell, CrossPlayInput, CrossTasksInput } from '../../types/comparison-inputs.ts';
import type { CrossPlayed } from '../../types/comparison-types.ts';
import type { HistoryRecord, SeedTaskRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Lets the simulator of one epoch write tasks, with the agent history that it was given in that epoch. Seed
 * tasks and sampling seeds are the same for every epoch, so that only the simulators differ. Invalid tasks
 * are left out.
 */
export function createCrossTasks(dependencies: Dependencies) {
  return (input: CrossTasksInput): Promise<FileRef> =>
    runPhaseOnce(dependencies, 'cross-tasks', input, async (context) => {
      const { experiment, world } = context;
      const { state, tasks } = input;
      const { seed, environment, durability } = experiment;
      const { agent } = await dependencies.store.json<HistoryRecord>(state.history);
      const history = shownHistory(agent, experiment.history);
      const base = await collect(dependencies.store.records<SeedTaskRecord>(state.base_tasks));
      const random = randomStream(deriveSeed(seed, 'cross-tasks', 'contexts'));
      const prompts = Array.from({ length: tasks }, () =>
        world.environmentPrompt(history, random.pick(base).spec),
      );
      const planned = batchPrompts(prompts, durability.promptsPerRequest, (chunk, index) => ({
        model: state.environment.name,
        prompts: chunk,
        n: 1,
        seed: deriveSeed(seed, 'cross-tasks', index),
        temperature: environment.sampling.temperature,
        maxTokens: environment.sampling.maxTokens,
        ...structuredOutput(experiment, world),
      }));
      await using client = await openCompletionClient(dependencies, context, {
        requests: planned.length,
        policies: [state.environment],
      });
      let written = 0;
      // Awaited: the client is closed when this function returns.
      return await dependencies.store.putRecords(
        (async function* (): AsyncGenerator<SeedTaskRecord> {
          for (const { request } of planned) {
            for (const completion of await client.complete(request)) {
              const id = `task-${String(written++).padStart(3, '0')}`;
              const parsed = isCutShort(completion) ? undefined : parseCandidate(world, completion.text);
              // A label that nobody has confirmed decides nothing between simulators.
              if (parsed?.valid === true && world.vote?.needed(parsed.spec) !== true)
                yield { id, spec: parsed.spec };
            }
          }
        })(),
      );
    });
}

/** A task, and the epoch of the simulator that wrote it. */
type CrossTask = SeedTaskRecord & { simulator: number };
type CrossRollout = { simulator: number; task_id: string; sample: number; reward: number; answer: string };

/**
 * Lets the agent of one epoch attempt the tasks of every epoch's simulator, with the same seeds for every
 * agent.
 */
export function createCrossPlay(dependencies: Dependencies) {
  return (input: CrossPlayInput): Promise<CrossPlayed> =>
    runPhaseOnce(dependencies, 'cross-play', input, async (context) => {
      const { experiment, world } = context;
      const { seed, agent, durability } = experiment;
      const { state, samples, epoch } = input;
      const tasks = await readCrossTasks(dependencies.store, input.tasks);
      const planned = batchPrompts(tasks, durability.promptsPerRequest, (chunk, index) => ({
        model: state.agent.name,
        prompts: chunk.map(({ spec }) => world.agentPrompt(spec)),
        n: samples,
        seed: deriveSeed(seed, 'cross-play', index),
        temperature: agent.sampling.temperature,
        maxTokens: agent.sampling.maxTokens,
      }));
      await using client = await openCompletionClient(dependencies, context, {
        requests: planned.length,
        policies: [state.agent],
      });
      const rewards = new Map<number, number[]>(input.tasks.map(({ epoch: simulator }) => [simulator, []]));
      const file = await dependencies.store.putRecords(
        (async function* (): AsyncGenerator<CrossRollout> {
          // In the world's own words: what differs along the simulators is their tasks alone.
          const rollouts = streamRollouts(client, context, planned, {
            specOf: (task) => task.spec,
            simulator: null,
          });
          for await (const { item, sample, sampled } of rollouts) {
            const { id, spec, simulator } = item;
            const { text, seed: drawn } = sampled;
            const verdict = randomStream(deriveSeed(drawn, 'verdict', simulator, id, sample));
            const reward = isUnanswered(sampled)
              ? 0
              : world.score(spec, text, verdict, sampled.similarity).reward;
            rewards.get(simulator)!.push(reward);
            yield { simulator, task_id: id, sample, reward, answer: text };
          }
        })(),
      );
      const cells = [...rewards].map(([simulator, values]): CrossPlayCell => {
        const { successes, attempts } = successRate(values, world.solvedFrom);
        return { simulator, agent: epoch, successes, attempts };
      });
      return { cells, file };
    });
}

async function readCrossTasks(store: ObjectStore, simulators: CrossPlayInput['tasks']): Promise<CrossTask[]> {
  const tasks = await Promise.all(
    simulators.map(async ({ epoch: simulator, file }) => {
      const records = await collect(store.records<SeedTaskRecord>(file));
      return records.map((task): CrossTask => ({ ...task, simulator }));
    }),
  );
  return tasks.flat();
}
