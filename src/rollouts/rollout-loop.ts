/** Rollouts of an agent: one completion a task in single-turn worlds, a loop over turns in the others. */
import { PROMPT_TOO_LONG } from '../inference/policy-client.ts';
import type { Completion, CompletionRequest } from '../inference/policy-client.ts';
import { deriveSeed } from '../numerics/random.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { PolicyVersion } from '../types/run-state.ts';
import type { Sampled, TurnRecord } from '../types/records.ts';
import type { TaskSpec, TurnRules } from '../worlds/world.ts';
import { addSimilarities } from './answer-similarity.ts';
import { isUnanswered, sampleRecord } from './completion-requests.ts';
import type { CompletionClient, PlannedRequest } from './completion-requests.ts';

/** One finished rollout of a task. */
export interface Rollout<Item> {
  item: Item;
  sample: number;
  sampled: Sampled;
  /** Absent in single-turn worlds. */
  turns?: TurnRecord[];
}

export interface RolloutOptions<Item> {
  specOf: (item: Item) => TaskSpec;
  /** The simulator that words what the agent reads between turns; null = the world's own words. */
  simulator: PolicyVersion | null;
}

/** Rollouts of the tasks of the planned requests, in their order. */
export async function* streamRollouts<Item>(
  client: CompletionClient,
  phase: Phase,
  requests: Iterable<PlannedRequest<Item>> | AsyncIterable<PlannedRequest<Item>>,
  options: RolloutOptions<Item>,
): AsyncGenerator<Rollout<Item>> {
  const { turns: rules } = phase.world;
  for await (const planned of requests) {
    yield* rules === undefined
      ? await runSingleTurn(client, phase, planned, options.specOf)
      : await runMultiTurn(client, phase, planned, { ...options, rules });
  }
}

async function runSingleTurn<Item>(
  client: CompletionClient,
  { world }: Phase,
  { request, items }: PlannedRequest<Item>,
  specOf: (item: Item) => TaskSpec,
): Promise<Rollout<Item>[]> {
  const completions = await client.complete(request);
  const rollouts = completions.map((completion) => ({
    item: items[completion.prompt]!,
    sample: completion.sample,
    sampled: sampleRecord(request, completion),
  }));
  const answers = rollouts.map(({ item, sampled }) => ({ spec: specOf(item), sampled }));
  await addSimilarities(client, world, answers);
  return rollouts;
}

/** All rollouts of a request, turn by turn in lockstep: those that are not over make one request a turn. */
async function runMultiTurn<Item>(
  client: CompletionClient,
  { experiment }: Phase,
  { request, items }: PlannedRequest<Item>,
  { specOf, simulator, rules }: RolloutOptions<Item> & { rules: TurnRules },
): Promise<Rollout<Item>[]> {
  const tokenize = createTokenizer(client, request.model);
  const completions = await client.complete(request);
  const rollouts = completions.map((completion) => {
    const item = items[completion.prompt]!;
    return startRollout(item, specOf(item), request, completion);
  });
  for (let turn = 1; ; turn++) {
    const active: { rollout: MultiTurnRollout<Item>; prompt: string | null }[] = [];
    for (const rollout of rollouts) {
      // A rollout that ended in an earlier turn has fewer actions.
      if (rollout.actions.length !== turn || isUnanswered(rollout.sampled)) continue;
      const prompt = rules.wordingPrompt(rollout.spec, rollout.actions);
      if (prompt === undefined) continue;
      active.push({ rollout, prompt });
    }
    if (active.length === 0) break;

    const prompts = active.flatMap(({ prompt }) => (prompt === null ? [] : [prompt]));
    const { temperature, maxTokens } = experiment.environment.sampling;
    const wordings =
      simulator === null || prompts.length === 0
        ? []
        : await client.complete({
            model: simulator.name,
            prompts,
            n: 1,
            seed: deriveSeed(request.seed, 'wording', turn),
            temperature,
            maxTokens,
          });
    const worded = wordings.map(wordingOf).values();
    for (const { rollout, prompt } of active) {
      const wording = prompt === null ? null : (worded.next().value ?? null);
      const { text, consistent } = rules.observe(rollout.spec, rollout.actions, wording);
      appendObservation(rollout, await tokenize(text), { wording, observation: text, consistent });
    }

    const next: CompletionRequest = {
      ...request,
      prompts: active.map(({ rollout: { sampled } }) => [...sampled.prompt_token_ids, ...sampled.token_ids]),
      n: 1,
      seed: deriveSeed(request.seed, 'turn', turn),
    };
    for (const [row, completion] of (await client.complete(next)).entries()) {
      const { rollout } = active[row]!;
      // A conversation that is too long ends with what the agent read last.
      if (completion.finish_reason === PROMPT_TOO_LONG) rollout.sampled.finish_reason = PROMPT_TOO_LONG;
      else appendAction(rollout, next, completion);
    }
  }
  return rollouts.map(({ item, sample, sampled, actions, turns }) => ({
    item,
    sample,
    sampled: { ...sampled, text: actions.join('\n') },
    turns,
  }));
}

/** Token ids of texts, each requested from the server once. */
function createTokenizer(client: CompletionClient, model: string): (text: string) => Promise<number[]> {
  const tokensByText = new Map<string, number[]>();
  return async (text) => {
    const tokens = tokensByText.get(text) ?? (await client.tokenize(model, text));
    tokensByText.set(text, tokens);
    return tokens;
  };
}

/** An unfinished rollout: its tokens as they were sampled or observed, never decoded and encoded again. */
interface MultiTurnRollout<Item> {
  item: Item;
  sample: number;
  spec: TaskSpec;
  /** `mask` is 1 on sampled tokens and 0 on observed ones. */
  sampled: Sampled & { mask: number[] };
  actions: string[];
  turns: TurnRecord[];
}

function startRollout<Item>(
  item: Item,
  spec: TaskSpec,
  request: CompletionRequest,
  completion: Completion,
): MultiTurnRollout<Item> {
  const sampled = sampleRecord(request, completion);
  return {
    item,
    sample: completion.sample,
    spec,
    sampled: { ...sampled, mask: sampled.token_ids.map(() => 1) },
    actions: [actionOf(completion)],
    turns: [turnRecord(request, completion)],
  };
}

function appendObservation(
  { sampled, turns }: MultiTurnRollout<unknown>,
  tokens: readonly number[],
  observed: Pick<TurnRecord, 'wording' | 'observation' | 'consistent'>,
): void {
  const zeros = tokens.map(() => 0);
  sampled.token_ids.push(...tokens);
  sampled.mask.push(...zeros);
  sampled.logprobs.push(...zeros);
  Object.assign(turns.at(-1)!, observed);
}

function appendAction(
  { sampled, actions, turns }: MultiTurnRollout<unknown>,
  request: CompletionRequest,
  completion: Completion,
): void {
  sampled.token_ids.push(...completion.token_ids);
  sampled.mask.push(...completion.token_ids.map(() => 1));
  sampled.logprobs.push(...completion.logprobs);
  sampled.finish_reason = completion.finish_reason;
  actions.push(actionOf(completion));
  turns.push(turnRecord(request, completion));
}

/** Null, so that the world speaks for itself, if the simulator had no room for the prompt. */
const wordingOf = ({ text, finish_reason }: Completion): string | null =>
  finish_reason === PROMPT_TOO_LONG ? null : text;

/** A rollout's text has one action a line, so an action has no line breaks. */
const actionOf = ({ text }: Completion): string => text.replaceAll('\n', ' ');

const turnRecord = (request: CompletionRequest, completion: Completion): TurnRecord => ({
  seed: completion.seed ?? request.seed,
  action: actionOf(completion),
  wording: null,
  observation: null,
  consistent: true,
});
