import { collect } from '../../async/streams.ts';
import { better, isForgetting } from '../../coevolution/guards.ts';
import type { Experiment } from '../../config/experiment.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { batchPrompts, openCompletionClient } from '../../rollouts/completion-requests.ts';
import { streamRollouts } from '../../rollouts/rollout-loop.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { FileRef } from '../../store/references.ts';
import type { ForgettingBaseline, Gated, GateInput } from '../../types/activity-types.ts';
import type { SeedTaskRecord } from '../../types/records.ts';
import { isSolved } from '../../worlds/world.ts';
import type { World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Holds the agent against an anchor set that neither the simulator nor the report's held-out score knows,
 * outside the rollout budget. An agent that has forgotten is rolled back to the last one that passed, with
 * its trainer state. The first one passes: it is the measure.
 */
export function createGateAgent(dependencies: Dependencies) {
  return (input: GateInput): Promise<Gated> =>
    runPhaseOnce(dependencies, 'gate', input, async (context) => {
      const { experiment, world } = context;
      const { agent, state } = input;
      const before = state.anchor;
      const tasks =
        before?.tasks ??
        (await anchorTasks(dependencies, experiment, world, [state.base_tasks, state.held_out]));
      const specs = (await collect(dependencies.store.records<SeedTaskRecord>(tasks))).map(
        ({ spec }) => spec,
      );
      const planned = batchPrompts(specs, experiment.durability.promptsPerRequest, (chunk, index) => ({
        model: agent.name,
        prompts: chunk.map((spec) => world.agentPrompt(spec)),
        n: 1,
        seed: deriveSeed(experiment.seed, 'gate', index),
        temperature: experiment.evaluation.temperature,
        maxTokens: experiment.agent.sampling.maxTokens,
      }));
      const now = { successes: 0, attempts: specs.length };
      await using client = await openCompletionClient(dependencies, context, {
        requests: planned.length,
        policies: [agent],
      });
      const rollouts = streamRollouts(client, context, planned, { specOf: (spec) => spec, simulator: null });
      for await (const { item: spec, sampled } of rollouts) {
        const { text, seed } = sampled;
        if (isSolved(world, world.score(spec, text, randomStream(deriveSeed(seed, 'verdict', spec))).reward))
          now.successes += 1;
      }
      const forgot =
        before !== undefined && isForgetting(now, before.best, experiment.guards.gateAgent!.drop);
      const anchor: ForgettingBaseline = forgot
        ? before
        : { tasks, best: before === undefined ? now : better(before.best, now), agent };
      return {
        agent: anchor.agent,
        anchor,
        metrics: {
          'eval/anchor': rate(now),
          'eval/anchor_best': rate(anchor.best),
          'eval/anchor_rolled_back': Number(forgot),
        },
        note: forgot
          ? `agent: rolled back to ${before.agent.name}, since ${agent.name} solves ${now.successes} of ${now.attempts} anchor tasks; the best solved ${before.best.successes}`
          : null,
      };
    });
}

/** Drawn as the held-out tasks are, by another seed, and none of them. */
async function anchorTasks(
  { store }: Dependencies,
  { guards }: Experiment,
  world: World,
  others: readonly FileRef[],
): Promise<FileRef> {
  const known = new Set(
    (await Promise.all(others.map((file) => collect(store.records<SeedTaskRecord>(file)))))
      .flat()
      .map(({ spec }) => spec),
  );
  const random = randomStream(deriveSeed(0, 'anchor-tasks'));
  const specs = [...new Set(random.shuffle(world.heldOutTasks(random)))]
    .filter((spec) => !known.has(spec))
    .slice(0, guards.gateAgent!.tasks);
  return store.putRecords(
    specs.map((spec, index): SeedTaskRecord => ({ id: `anchor-${String(index).padStart(3, '0')}`, spec })),
  );
}

const rate = ({ successes, attempts }: { successes: number; attempts: number }): number | null =>
  attempts === 0 ? null : successes / attempts;
