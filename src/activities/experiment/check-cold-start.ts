import { collect } from '../../async/streams.ts';
import { emptyHistory } from '../../coevolution/agent-history.ts';
import { generateCandidates, structuredOutput } from '../../curriculum/generate-candidates.ts';
import type { Candidate } from '../../curriculum/generate-candidates.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { batchPrompts, isUnanswered, openCompletionClient } from '../../rollouts/completion-requests.ts';
import type { CompletionClient } from '../../rollouts/completion-requests.ts';
import { streamRollouts } from '../../rollouts/rollout-loop.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import { quoted } from '../../scoring/quoted.ts';
import { simulatorAdvice } from '../../scoring/simulator-advice.ts';
import type { PhaseInput } from '../../types/activity-inputs.ts';
import type { ColdStart } from '../../types/activity-types.ts';
import type { SeedTaskRecord } from '../../types/records.ts';
import { isSolved } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/** The simulator writes too few valid tasks for co-evolution to start. A retry would sample the same texts. */
export class ColdStartFailed extends Error {
  override readonly name = 'ColdStartFailed';
}

interface Prompt {
  text: string;
}

/**
 * Checks the initial policies before the first epoch, outside the rollout budget: which share of the
 * simulator's texts are valid tasks, and how often the agent solves a base task.
 * @throws ColdStartFailed if fewer tasks are valid than `guards.coldStart.minValid` asks for
 */
export function createCheckColdStart(dependencies: Dependencies) {
  return (input: PhaseInput): Promise<ColdStart> =>
    runPhaseOnce(dependencies, 'cold-start', input, async (context) => {
      const { coldStart } = context.experiment.guards;
      const { state } = input;
      const base = await collect(dependencies.store.records<SeedTaskRecord>(state.base_tasks));
      const specs = base.slice(0, coldStart!.tasks).map(({ spec }) => spec);
      await using client = await openCompletionClient(dependencies, context, {
        requests: 2 * Math.ceil(specs.length / context.experiment.durability.promptsPerRequest),
        policies: [state.agent, state.environment],
      });
      const candidates = await writeTasks(client, context, state.environment.name, specs);
      const valid = candidates.filter(({ parsed }) => parsed.valid).length / candidates.length;
      if (valid < coldStart!.minValid)
        throw new ColdStartFailed(failureMessage(context, candidates, coldStart!));
      const { solved, wellFormed, attempts, unanswered } = await attemptBaseTasks(
        client,
        context,
        state.agent.name,
        specs,
      );
      const ofAttempts = (count: number): number => (attempts === 0 ? 0 : count / attempts);
      const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
      return {
        metrics: {
          'cold_start/valid_tasks': valid,
          'cold_start/success_rate': ofAttempts(solved),
          'cold_start/well_formed': ofAttempts(wellFormed),
        },
        note:
          `cold start: ${percent(valid)} of ${candidates.length} tasks valid; the agent solves ` +
          `${percent(ofAttempts(solved))} of its attempts at ${specs.length} base tasks, ` +
          `${percent(ofAttempts(wellFormed))} of its answers have the right form` +
          (unanswered === 0 ? '' : `; ${unanswered} attempts without an answer: their prompts are too long`),
      };
    });
}

/** A variation of each task by the simulator, which knows nothing of the agent yet. */
async function writeTasks(
  client: CompletionClient,
  context: Phase,
  model: string,
  specs: readonly string[],
): Promise<Candidate<Prompt>[]> {
  const { experiment, world } = context;
  const { environment, durability, seed } = experiment;
  const prompts = specs.map((spec): Prompt => ({ text: world.environmentPrompt(emptyHistory(), spec) }));
  const planned = batchPrompts(prompts, durability.promptsPerRequest, (chunk, index) => ({
    model,
    prompts: chunk.map(({ text }) => text),
    n: 1,
    seed: deriveSeed(seed, 'cold-start', 'environment', index),
    ...environment.sampling,
    ...structuredOutput(experiment, world),
  }));
  const candidates: Candidate<Prompt>[] = [];
  for (const request of planned) candidates.push(...(await generateCandidates(client, context, request)));
  return candidates;
}

/** A group of attempts at each task by the agent; a prompt that is too long was not attempted. */
async function attemptBaseTasks(
  client: CompletionClient,
  context: Phase,
  model: string,
  specs: readonly string[],
): Promise<{ solved: number; wellFormed: number; attempts: number; unanswered: number }> {
  const { experiment, world } = context;
  const { agent, durability, seed } = experiment;
  const planned = batchPrompts(specs, durability.promptsPerRequest, (chunk, index) => ({
    model,
    prompts: chunk.map((spec) => world.agentPrompt(spec)),
    n: agent.rolloutsPerTask,
    seed: deriveSeed(seed, 'cold-start', 'agent', index),
    ...agent.sampling,
  }));
  const counts = { solved: 0, wellFormed: 0, attempts: 0, unanswered: 0 };
  const rollouts = streamRollouts(client, context, planned, { specOf: (spec) => spec, simulator: null });
  for await (const { item: spec, sample, sampled } of rollouts) {
    if (isUnanswered(sampled)) {
      counts.unanswered += 1;
      continue;
    }
    counts.attempts += 1;
    const chance = randomStream(deriveSeed(sampled.seed, 'verdict', spec, sample));
    const { reward, wellFormed } = world.score(spec, sampled.text, chance, sampled.similarity);
    if (isSolved(world, reward)) counts.solved += 1;
    if (wellFormed) counts.wellFormed += 1;
  }
  return counts;
}

const SHOWN_REASONS = 3;

/** What the simulator wrote, why it is no task, and what can be done. */
function failureMessage(
  { experiment, world }: Phase,
  candidates: readonly Candidate<Prompt>[],
  { minValid }: { minValid: number },
): string {
  const examples = new Map<string, { count: number; text: string }>();
  for (const { parsed, sampled } of candidates) {
    if (parsed.valid) continue;
    const seen = examples.get(parsed.reason) ?? { count: 0, text: sampled.text };
    examples.set(parsed.reason, { ...seen, count: seen.count + 1 });
  }
  const common = [...examples]
    .toSorted(([, left], [, right]) => right.count - left.count)
    .slice(0, SHOWN_REASONS);
  const advice = simulatorAdvice(experiment, world, new Set(common.map(([reason]) => reason)));
  const reasons = common.map(([reason, { count, text }]) => `${count} ${reason}, such as ${quoted(text)}`);
  const validCount = candidates.filter(({ parsed }) => parsed.valid).length;
  return (
    `cold start: ${validCount} of ${candidates.length} tasks of the initial simulator are valid; ` +
    `guards.coldStart.minValid asks for ${minValid}. ${reasons.join('; ')}. ` +
    `What may help: ${advice.join(', ')}`
  );
}
