import { contaminationMessage, findContamination } from '../benchmarks/contamination/find-contamination.ts';
import type { Contamination } from '../benchmarks/contamination/find-contamination.ts';
import type { Experiment } from '../config/experiment.ts';
import type { Completion, CompletionRequest } from '../inference/policy-client.ts';
import { ROUNDING } from '../numerics/preconditions.ts';
import { deriveSeed } from '../numerics/random.ts';
import { batchPrompts, sampleRecord } from '../rollouts/completion-requests.ts';
import type { PlannedRequest, SendRequest } from '../rollouts/completion-requests.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { LabelRecord, Sampled } from '../types/records.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { ParsedTask, World } from '../worlds/world.ts';

/** What the simulator wrote for one prompt, as it finally stands. */
export interface Candidate<Item> {
  item: Item;
  sample: number;
  /** What it was told before it wrote this. */
  prompt: string;
  sampled: Sampled;
  parsed: ParsedTask;
  /** Times it was asked again; absent in worlds that take the first text. */
  repairs?: number;
  /** Absent in worlds whose labels need no vote. */
  label?: LabelRecord;
}

/** What the server is told of the form of a task, where it can use it. */
export const structuredOutput = (
  { serving }: Experiment,
  { taskSchema }: World,
): Pick<CompletionRequest, 'schema'> =>
  taskSchema !== undefined && serving.type === 'openai' && serving.structuredOutput === 'json_schema'
    ? { schema: taskSchema }
    : {};

/** Asks for tasks, and again for each text that is none, as often as the world allows. */
export async function generateCandidates<Item extends { text: string }>(
  ask: SendRequest,
  context: Phase,
  { request, items }: PlannedRequest<Item>,
): Promise<Candidate<Item>[]> {
  const {
    experiment: { durability },
    world,
  } = context;
  const { repairs } = world;
  const drafts = (await ask(request)).map((completion): Candidate<Item> => {
    const item = items[completion.prompt]!;
    return {
      item,
      sample: completion.sample,
      prompt: item.text,
      ...read(world, request, completion),
      ...(repairs && { repairs: 0 }),
    };
  });
  for (let round = 1; round <= (repairs?.limit ?? 0); round++) {
    const again = drafts.flatMap((draft) =>
      draft.parsed.valid
        ? []
        : [{ draft, prompt: repairs!.prompt(draft.item.text, draft.sampled.text, draft.parsed.reason) }],
    );
    const planned = batchPrompts(again, durability.promptsPerRequest, (chunk, index): CompletionRequest => ({
      ...request,
      prompts: chunk.map(({ prompt }) => prompt),
      n: 1,
      seed: deriveSeed(request.seed, 'repair', round, index),
    }));
    for (const one of planned) {
      for (const completion of await ask(one.request)) {
        const { draft, prompt } = one.items[completion.prompt]!;
        Object.assign(draft, { prompt, repairs: round }, read(world, one.request, completion));
      }
    }
  }
  return drafts;
}

const read = (
  world: World,
  request: CompletionRequest,
  completion: Completion,
): Pick<Candidate<never>, 'sampled' | 'parsed'> => ({
  sampled: sampleRecord(request, completion),
  parsed:
    completion.finish_reason === 'length'
      ? { valid: false, reason: 'cut_off' }
      : parseCandidate(world, completion.text),
});

/**
 * Puts the labels that the simulator wrote itself to the vote of a solver that it does not train: the frozen
 * initial agent. A task whose label too few votes confirm is none. The votes are outside the rollout budget,
 * and the task's tokens include them.
 */
export async function confirmLabels(
  ask: SendRequest,
  { experiment, world }: Phase,
  drafts: readonly Candidate<unknown>[],
  solver: { model: string; seed: number },
): Promise<void> {
  const { vote } = world;
  if (vote === undefined) return;
  const {
    agent: { sampling },
    durability,
  } = experiment;
  for (const draft of drafts) draft.label = { votes: 0, agreeing: 0, disputed: false };
  const doubted = drafts.flatMap((draft) =>
    draft.parsed.valid && vote.needed(draft.parsed.spec) ? [{ draft, spec: draft.parsed.spec }] : [],
  );
  const planned = batchPrompts(doubted, durability.promptsPerRequest, (chunk, index): CompletionRequest => ({
    model: solver.model,
    prompts: chunk.map(({ spec }) => world.agentPrompt(spec)),
    n: vote.votes,
    seed: deriveSeed(solver.seed, 'vote', index),
    temperature: sampling.temperature,
    maxTokens: sampling.maxTokens,
  }));
  for (const { request, items } of planned) {
    const completions = await ask(request);
    for (const [row, { draft, spec }] of items.entries()) {
      const { agreeing, disputed } = vote.tally(
        spec,
        completions.filter(({ prompt }) => prompt === row).map(({ text }) => text),
      );
      draft.label = { votes: vote.votes, agreeing, disputed };
      if (agreeing < vote.agreement * vote.votes - ROUNDING)
        draft.parsed = { valid: false, reason: 'label_unconfirmed' };
    }
  }
}

/** A benchmark question in what the agent would be given for a task. */
const questionIn = (world: World, spec: string): Contamination | null =>
  findContamination(world.agentPrompt(spec));

/**
 * A text as a task that may be trained on: one that holds a question of a benchmark is none (`contaminated`).
 */
export function parseCandidate(world: World, text: string): ParsedTask {
  const parsed = world.parseTask(text);
  return parsed.valid && questionIn(world, parsed.spec) !== null
    ? { valid: false, reason: 'contaminated' }
    : parsed;
}

/**
 * @throws InvalidConfig for a task that holds a question of a benchmark, naming where the task stands, the
 * benchmark and its case
 */
export function rejectContaminated(world: World, spec: string, place: string): void {
  const found = questionIn(world, spec);
  if (found !== null)
    throw new InvalidConfig(`experiment: ${place}: got ${spec.slice(0, 80)}; ${contaminationMessage(found)}`);
}
