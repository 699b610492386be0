import type { Completion, CompletionRequest } from '../inference/policy-client.ts';
import { deriveSeed } from '../numerics/random.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { PolicyVersion } from '../types/activity-types.ts';
import type { Sampled, TurnRecord } from '../types/records.ts';
import type { TaskSpec, TurnRules } from '../worlds/world.ts';
import { sampleRecord, sequentialRequests, streamCompletions } from './completion-requests.ts';
import type { ModelDependencies, PlannedRequest, SamplingUsage, SendRequest } from './completion-requests.ts';

/** One finished attempt at a task. */
export interface Rollout<Item> {
  item: Item;
  sample: number;
  sampled: Sampled;
  /** Absent in worlds of one turn. */
  turns?: TurnRecord[];
}

export interface RolloutOptions {
  requests: number;
  policies: readonly PolicyVersion[];
  count: SamplingUsage;
  /** The simulator that words what the agent reads between turns; null = the world's own words. */
  wordedBy: PolicyVersion | null;
}

/**
 * Attempts at the tasks of the planned requests, in their order: one answer each, or as many turns as the
 * world has.
 */
export async function* streamRollouts<Item>(
  dependencies: ModelDependencies,
  context: Phase,
  planned: Iterable<PlannedRequest<Item>> | AsyncIterable<PlannedRequest<Item>>,
  specOf: (item: Item) => TaskSpec,
  options: RolloutOptions,
): AsyncGenerator<Rollout<Item>> {
  const { turns } = context.world;
  if (turns === undefined) {
    for await (const { request, items, completions } of streamCompletions(
      dependencies,
      context,
      planned,
      options,
    )) {
      for (const completion of completions)
        yield {
          item: items[completion.prompt]!,
          sample: completion.sample,
          sampled: sampleRecord(request, completion),
        };
    }
    return;
  }
  const asked = sequentialRequests(dependencies, context, options);
  try {
    for await (const { request, items } of planned)
      yield* runMultiTurn(
        asked.ask,
        createTokenizer(dependencies, context),
        { request, items },
        specOf,
        turns,
        context,
        options.wordedBy,
      );
  } finally {
    await asked.close();
  }
}

type Tokenize = (model: string, texts: readonly string[]) => Promise<(text: string) => number[]>;

/** Token ids of texts, each asked of the server once: they follow from model and text alone. */
function createTokenizer(
  dependencies: ModelDependencies,
  { experiment: { serving, durability } }: Phase,
): Tokenize {
  const known = new Map<string, number[]>();
  return async (model, texts) => {
    const server = dependencies.policyClient(serving, durability.requestTimeoutSeconds * 1000);
    for (const text of new Set(texts))
      if (!known.has(text))
        known.set(text, await server.tokenize(model, text, dependencies.activityContext().signal));
    return (text) => known.get(text)!;
  };
}

/** A rollout under way: its tokens as they were sampled or read, never decoded and encoded again. */
interface MultiTurnRollout<Item> {
  item: Item;
  sample: number;
  spec: TaskSpec;
  sampled: Sampled & { mask: number[] };
  actions: string[];
  turns: TurnRecord[];
}

async function* runMultiTurn<Item>(
  ask: SendRequest,
  tokenise: Tokenize,
  { request, items }: PlannedRequest<Item>,
  specOf: (item: Item) => TaskSpec,
  rules: TurnRules,
  { experiment: { environment } }: Phase,
  wordedBy: PolicyVersion | null,
): AsyncGenerator<Rollout<Item>> {
  const all = (await ask(request)).map((completion): MultiTurnRollout<Item> => {
    const item = items[completion.prompt]!;
    const first = sampleRecord(request, completion);
    return {
      item,
      sample: completion.sample,
      spec: specOf(item),
      sampled: { ...first, mask: first.token_ids.map(() => 1) },
      actions: [actionOf(completion)],
      turns: [turnRecord(request, completion)],
    };
  });
  for (let turn = 1; ; turn++) {
    const prompted = all.flatMap((dialogue) => {
      // One that was over a turn ago has fewer actions.
      const prompt =
        dialogue.actions.length === turn ? rules.wordingPrompt(dialogue.spec, dialogue.actions) : undefined;
      return prompt === undefined ? [] : [{ dialogue, prompt }];
    });
    if (prompted.length === 0) break;
    const going = prompted.map(({ dialogue }) => dialogue);
    const { temperature, maxTokens } = environment.sampling;
    const wordings =
      wordedBy === null
        ? null
        : await ask({
            model: wordedBy.name,
            prompts: prompted.map(({ prompt }) => prompt),
            n: 1,
            seed: deriveSeed(request.seed, 'wording', turn),
            temperature,
            maxTokens,
          });
    const observed = going.map(({ spec, actions }, row) =>
      rules.observe(spec, actions, wordings === null ? null : wordings[row]!.text),
    );
    const tokensOf = await tokenise(
      request.model,
      observed.map(({ text }) => text),
    );
    for (const [row, { sampled: so, turns }] of going.entries()) {
      const { text, consistent } = observed[row]!;
      const read = tokensOf(text);
      so.token_ids.push(...read);
      so.mask.push(...read.map(() => 0));
      so.logprobs.push(...read.map(() => 0));
      Object.assign(turns.at(-1)!, {
        wording: wordings === null ? null : wordings[row]!.text,
        observation: text,
        consistent,
      });
    }
    const next: CompletionRequest = {
      ...request,
      prompts: going.map(({ sampled: so }) => [...so.prompt_token_ids, ...so.token_ids]),
      n: 1,
      seed: deriveSeed(request.seed, 'turn', turn),
    };
    for (const [row, completion] of (await ask(next)).entries()) {
      const { sampled: so, actions, turns } = going[row]!;
      so.token_ids.push(...completion.token_ids);
      so.mask.push(...completion.token_ids.map(() => 1));
      so.logprobs.push(...completion.logprobs);
      so.finish_reason = completion.finish_reason;
      actions.push(actionOf(completion));
      turns.push(turnRecord(next, completion));
    }
  }
  for (const { item, sample, sampled: so, actions, turns } of all)
    yield { item, sample, sampled: { ...so, text: actions.join('\n') }, turns };
}

/** An answer has one action a line, so an action has none of its own. */
const actionOf = ({ text }: Completion): string => text.replaceAll('\n', ' ');

const turnRecord = ({ seed }: CompletionRequest, completion: Completion): TurnRecord => ({
  seed,
  action: actionOf(completion),
  wording: null,
  observation: null,
  consistent: true,
});
