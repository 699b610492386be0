/**
 * From the simulator's texts to candidates for tasks: repair rounds, label votes, the contamination guard.
 */
import {
  contaminationMessage,
  findTaskContamination,
} from '../benchmarks/contamination/find-contamination.ts';
import type { Contamination } from '../benchmarks/contamination/find-contamination.ts';
import type { Experiment } from '../config/experiment.ts';
import { servingOf } from '../config/policy-servers.ts';
import type { ServingSettings } from '../config/serving.ts';
import { PROMPT_TOO_LONG } from '../inference/policy-client.ts';
import type { Completion, CompletionRequest } from '../inference/policy-client.ts';
import { ROUNDING } from '../numerics/preconditions.ts';
import { deriveSeed } from '../numerics/random.ts';
import { batchPrompts, sampleRecord } from '../rollouts/completion-requests.ts';
import type { CompletionClient, PlannedRequest } from '../rollouts/completion-requests.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { LabelRecord, Sampled } from '../types/records.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { ParsedTask, TaskSpec, World } from '../worlds/world.ts';

/** The simulator's last text for one sample of a prompt, and whether it is a valid task. */
export interface Candidate<Item> {
  item: Item;
  sample: number;
  /** The prompt that this text answers: a repair prompt after a repair. */
  prompt: string;
  sampled: Sampled;
  parsed: ParsedTask;
  /** Repair rounds so far; absent in worlds that take the first text. */
  repairs?: number;
  /** Whether the words are a model's, and not the code's own; absent in worlds that ask for none. */
  worded?: boolean;
  /** Absent in worlds whose labels need no vote. */
  label?: LabelRecord;
}

/**
 * What the server holds the simulator's texts to: the schema or the grammar of the world's tasks, if it has one
 * and the server can. OpenAI's API has schemas alone, and on request.
 */
export const structuredOutput = (
  experiment: Pick<Experiment, 'serving' | 'environment'>,
  world: Pick<World, 'taskSchema' | 'taskGrammar'>,
): Pick<CompletionRequest, 'schema' | 'grammar'> => heldTo(servingOf(experiment, 'environment'), world);

/** The same for a server of the simulator. */
export function heldTo(
  serving: ServingSettings,
  { taskSchema, taskGrammar }: Pick<World, 'taskSchema' | 'taskGrammar'>,
): Pick<CompletionRequest, 'schema' | 'grammar'> {
  const isOn =
    serving.type === 'openai'
      ? serving.structuredOutput === 'json_schema'
      : serving.structuredOutput !== 'none';
  if (!isOn) return {};
  if (taskSchema !== undefined) return { schema: taskSchema };
  return taskGrammar === undefined || serving.type === 'openai' ? {} : { grammar: taskGrammar };
}

/** Generates candidates, and again for each invalid one, as often as the world allows. */
export async function generateCandidates<Item extends { text: string }>(
  client: Pick<CompletionClient, 'complete'>,
  { experiment: { durability }, world }: Phase,
  { request, items }: PlannedRequest<Item>,
): Promise<Candidate<Item>[]> {
  const { repairs } = world;
  const candidates: Candidate<Item>[] = [];
  for (const completion of await client.complete(request)) {
    const item = items[completion.prompt]!;
    candidates.push({
      item,
      sample: completion.sample,
      prompt: item.text,
      ...readCompletion(world, request, completion),
      ...(repairs && { repairs: 0 }),
    });
  }
  if (repairs === undefined) return candidates;
  for (let round = 1; round <= repairs.limit; round++) {
    const rejected: { candidate: Candidate<Item>; prompt: string }[] = [];
    for (const candidate of candidates) {
      const { item, sampled, parsed } = candidate;
      if (parsed.valid || parsed.reason === PROMPT_TOO_LONG) continue;
      rejected.push({ candidate, prompt: repairs.prompt(item.text, sampled.text, parsed.reason) });
    }
    const planned = batchPrompts(rejected, durability.promptsPerRequest, (chunk, index) => ({
      ...request,
      prompts: chunk.map(({ prompt }) => prompt),
      n: 1,
      seed: deriveSeed(request.seed, 'repair', round, index),
    }));
    for (const repair of planned) {
      for (const completion of await client.complete(repair.request)) {
        const { candidate, prompt } = repair.items[completion.prompt]!;
        const repaired = readCompletion(world, repair.request, completion);
        // A repair that could not be asked leaves the text that it was to mend.
        if (completion.finish_reason === PROMPT_TOO_LONG) candidate.parsed = repaired.parsed;
        else Object.assign(candidate, { prompt, repairs: round }, repaired);
      }
    }
  }
  return candidates;
}

const readCompletion = (
  world: World,
  request: CompletionRequest,
  completion: Completion,
): Pick<Candidate<never>, 'sampled' | 'parsed'> => ({
  sampled: sampleRecord(request, completion),
  parsed: parseCompletion(world, completion),
});

function parseCompletion(world: World, { finish_reason, text }: Completion): ParsedTask {
  switch (finish_reason) {
    case 'length':
      return { valid: false, reason: 'cut_off' };
    case PROMPT_TOO_LONG:
      return { valid: false, reason: PROMPT_TOO_LONG };
    default:
      return parseCandidate(world, text);
  }
}

/** Makes tasks invalid that the agent has no room to read and to answer. */
export async function rejectTooLong(
  client: Pick<CompletionClient, 'hasRoomFor'>,
  { experiment, world }: Phase,
  candidates: readonly Candidate<unknown>[],
  agent: string,
): Promise<void> {
  const { maxTokens } = experiment.agent.sampling;
  for (const candidate of candidates) {
    const { parsed } = candidate;
    if (!parsed.valid) continue;
    if (!(await client.hasRoomFor({ model: agent, maxTokens }, world.agentPrompt(parsed.spec))))
      candidate.parsed = { valid: false, reason: PROMPT_TOO_LONG };
  }
}

/**
 * Puts labels that the simulator wrote itself to the vote of a solver that the run does not train: that of the
 * world, or else the frozen initial agent. A candidate becomes invalid if too few votes confirm its label. The
 * votes are outside the rollout budget; the tokens of task generation include them.
 */
export async function confirmLabels(
  client: Pick<CompletionClient, 'complete'>,
  { experiment, world }: Phase,
  candidates: readonly Candidate<unknown>[],
  initialAgent: { model: string; seed: number },
): Promise<void> {
  const { vote } = world;
  if (vote === undefined) return;
  const { solver } = vote;
  const { agent, durability } = experiment;
  const unconfirmed: { candidate: Candidate<unknown>; spec: TaskSpec }[] = [];
  for (const candidate of candidates) {
    const { parsed } = candidate;
    candidate.label = { votes: 0, agreeing: 0, disputed: false };
    if (parsed.valid && vote.needed(parsed.spec)) unconfirmed.push({ candidate, spec: parsed.spec });
  }
  const planned = batchPrompts(unconfirmed, durability.promptsPerRequest, (chunk, index) => ({
    model: solver?.model ?? initialAgent.model,
    prompts: chunk.map(({ spec }) => (solver?.prompt ?? world.agentPrompt)(spec)),
    n: vote.votes,
    seed: deriveSeed(initialAgent.seed, 'vote', index),
    temperature: solver?.temperature ?? agent.sampling.temperature,
    maxTokens: solver?.maxTokens ?? agent.sampling.maxTokens,
  }));
  for (const { request, items } of planned) {
    const completions = await client.complete(request);
    for (const [row, { candidate, spec }] of items.entries()) {
      const votes = completions.filter(({ prompt }) => prompt === row).map(({ text }) => text);
      const { agreeing, disputed } = vote.tally(spec, votes);
      candidate.label = { votes: vote.votes, agreeing, disputed };
      if (agreeing < vote.agreement * vote.votes - ROUNDING)
        candidate.parsed = { valid: false, reason: 'label_unconfirmed' };
    }
  }
}

const contaminationOf = (world: World, spec: string): Contamination | null =>
  findTaskContamination(spec, world.agentPrompt(spec));

/** Parses a text into a task that may be trained on; a task with a benchmark question is `contaminated`. */
export function parseCandidate(world: World, text: string): ParsedTask {
  const parsed = world.parseTask(text);
  const isContaminated = parsed.valid && contaminationOf(world, parsed.spec) !== null;
  return isContaminated ? { valid: false, reason: 'contaminated' } : parsed;
}

/**
 * @throws InvalidConfig if the task contains a benchmark question, naming the place of the task, the
 * benchmark and its case
 */
export function rejectContaminated(world: World, spec: string, place: string): void {
  const contamination = contaminationOf(world, spec);
  if (contamination === null) return;
  throw new InvalidConfig(
    `experiment: ${place}: got ${spec.slice(0, 80)}; ${contaminationMessage(contamination)}`,
  );
}
