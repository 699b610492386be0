import { collect } from '../../async/streams.ts';
import { better, isForgetting } from '../../coevolution/guards.ts';
import type { SuccessCount } from '../../numerics/intervals.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { batchPrompts, isUnanswered, openCompletionClient } from '../../rollouts/completion-requests.ts';
import { streamRollouts } from '../../rollouts/rollout-loop.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import type { GateInput } from '../../types/activity-inputs.ts';
import type { Gated } from '../../types/activity-types.ts';
import type { ForgettingBaseline, PolicyVersion } from '../../types/run-state.ts';
import type { SeedTaskRecord } from '../../types/records.ts';
import { isSolved } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Checks whether the agent has forgotten: its success on an anchor set, which neither the simulator nor the
 * held-out score uses, outside the rollout budget. An agent that has forgotten is rolled back to the last
 * that passed, with its trainer state. The first agent passes: later ones are compared with it.
 */
export function createCheckForgetting(dependencies: Dependencies) {
  return (input: GateInput): Promise<Gated> =>
    runPhaseOnce(dependencies, 'gate', input, async (context) => {
      const { experiment, world } = context;
      const { agent, state } = input;
      const { store } = dependencies;
      const baseline = state.anchor;
      const tasks =
        baseline?.tasks ?? (await drawAnchorTasks(store, context, [state.base_tasks, state.held_out]));
      const specs = (await collect(store.records<SeedTaskRecord>(tasks))).map(({ spec }) => spec);
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
        if (isUnanswered(sampled)) continue;
        if (
          isSolved(
            world,
            world.score(spec, text, randomStream(deriveSeed(seed, 'verdict', spec)), sampled.similarity)
              .reward,
          )
        )
          now.successes += 1;
      }
      const hasForgotten =
        baseline !== undefined && isForgetting(now, baseline.best, experiment.guards.gateAgent!.drop);
      const anchor: ForgettingBaseline = hasForgotten
        ? baseline
        : { tasks, best: baseline === undefined ? now : better(baseline.best, now), agent };
      return {
        agent: anchor.agent,
        anchor,
        metrics: {
          'eval/anchor': successShare(now),
          'eval/anchor_best': successShare(anchor.best),
          'eval/anchor_rolled_back': Number(hasForgotten),
        },
        note: hasForgotten ? rollbackNote(agent, now, baseline) : null,
      };
    });
}

const rollbackNote = (agent: PolicyVersion, now: SuccessCount, baseline: ForgettingBaseline): string =>
  `agent: rolled back to ${baseline.agent.name}, since ${agent.name} solves ${now.successes} of ` +
  `${now.attempts} anchor tasks; the best solved ${baseline.best.successes}`;

/**
 * Draws the anchor set: as the held-out tasks are drawn, but with another seed.
 * @param excluded files of the tasks that may not be in it
 */
async function drawAnchorTasks(
  store: ObjectStore,
  { experiment, world }: Phase,
  excluded: readonly FileRef[],
): Promise<FileRef> {
  const excludedTasks = await Promise.all(
    excluded.map((file) => collect(store.records<SeedTaskRecord>(file))),
  );
  const excludedSpecs = new Set(excludedTasks.flat().map(({ spec }) => spec));
  const random = randomStream(deriveSeed(experiment.evaluation.heldOutSeed ?? 0, 'anchor-tasks'));
  const candidates = new Set(random.shuffle(world.heldOutTasks(random)));
  const specs = [...candidates]
    .filter((spec) => !excludedSpecs.has(spec))
    .slice(0, experiment.guards.gateAgent!.tasks);
  return store.putRecords(
    specs.map((spec, index): SeedTaskRecord => ({ id: `anchor-${String(index).padStart(3, '0')}`, spec })),
  );
}

const successShare = ({ successes, attempts }: SuccessCount): number | null =>
  attempts === 0 ? null : successes / attempts;
