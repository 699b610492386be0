/** The words of tasks whose labels code has computed: asked of a model, checked by code. */
import { isCutShort } from '../inference/policy-client.ts';
import { deriveSeed } from '../numerics/random.ts';
import { batchPrompts } from '../rollouts/completion-requests.ts';
import type { CompletionClient } from '../rollouts/completion-requests.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { TaskSpec } from '../worlds/world.ts';
import { parseCandidate } from './generate-candidates.ts';
import type { Candidate } from './generate-candidates.ts';

/**
 * Asks for the words of each valid candidate: the server that the world names, or else the simulator. Words that
 * do not say what they must, or make no valid task, are dropped, and the candidate keeps the code's own: its
 * label is the same in both. The tokens of task generation include them.
 */
export async function wordTasks(
  client: Pick<CompletionClient, 'complete'>,
  { experiment, world }: Phase,
  candidates: readonly Candidate<unknown>[],
  simulator: { model: string; seed: number },
): Promise<void> {
  const { wording } = world;
  if (wording === undefined) return;
  const { environment, durability } = experiment;
  const { server } = wording;
  const unworded: { candidate: Candidate<unknown>; spec: TaskSpec }[] = [];
  for (const candidate of candidates) {
    const { parsed } = candidate;
    if (!parsed.valid) continue;
    candidate.worded = false;
    unworded.push({ candidate, spec: parsed.spec });
  }
  const planned = batchPrompts(unworded, durability.promptsPerRequest, (chunk, index) => ({
    model: server?.model ?? simulator.model,
    prompts: chunk.map(({ spec }) => wording.prompt(spec)),
    n: 1,
    seed: deriveSeed(simulator.seed, 'task-wording', index),
    temperature: server?.temperature ?? environment.sampling.temperature,
    maxTokens: server?.maxTokens ?? environment.sampling.maxTokens,
  }));
  for (const { request, items } of planned) {
    for (const completion of await client.complete(request)) {
      if (isCutShort(completion)) continue;
      const { candidate, spec } = items[completion.prompt]!;
      const worded = wording.apply(spec, completion.text);
      const parsed = worded === undefined ? undefined : parseCandidate(world, worded);
      if (parsed?.valid === true) Object.assign(candidate, { parsed, worded: true });
    }
  }
}
