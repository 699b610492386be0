/**
 * Soft similarity of free-form answers by embeddings (GenEnv eq. (1)). It is asked for when an answer is sampled
 * and recorded with it, so scoring stays a function of the records.
 */
import { embeddingSimilarity } from '../coevolution/embedding-similarity.ts';
import type { EmbeddingClient } from '../inference/embedding-client.ts';
import { MAX_EMBEDDED_TEXTS } from '../inference/embedding-client.ts';
import { deriveSeed, randomStream } from '../numerics/random.ts';
import type { Sampled } from '../types/records.ts';
import type { ComparedTexts, TaskSpec, World } from '../worlds/world.ts';

/** What is recorded of a comparison: vectors are not. */
export interface Compared {
  /** One of each pair, in [0, 1]. */
  similarities: number[];
  promptTokens: number;
}

/**
 * How similar the texts of each pair are. Each text is embedded once; a text that is too long for the model is
 * similar to none.
 * @throws as `EmbeddingClient.embed` does
 */
export async function compareTexts(
  client: EmbeddingClient,
  model: string,
  pairs: readonly ComparedTexts[],
  signal: AbortSignal,
): Promise<Compared> {
  const texts = [...new Set(pairs.flatMap(({ answer, reference }) => [reference, answer]))];
  const vectors = new Map<string, readonly number[] | undefined>();
  let promptTokens = 0;
  for (let from = 0; from < texts.length; from += MAX_EMBEDDED_TEXTS) {
    const part = texts.slice(from, from + MAX_EMBEDDED_TEXTS);
    const embedded = await client.embed({ model, texts: part }, signal);
    for (const [index, text] of part.entries()) vectors.set(text, embedded.vectors[index]);
    promptTokens += embedded.promptTokens;
  }
  const similarities = pairs.map(({ answer, reference }) => {
    const [left, right] = [vectors.get(answer), vectors.get(reference)];
    return left === undefined || right === undefined ? 0 : embeddingSimilarity(left, right);
  });
  return { similarities, promptTokens };
}

export interface TextComparer {
  /**
   * How similar the texts of each pair are, by the world's model of embeddings; recorded as completions are.
   * @throws as `EmbeddingClient.embed` does
   */
  compare(pairs: readonly ComparedTexts[]): Promise<number[]>;
}

/** Adds its similarity to each answer that the world compares so; nothing is asked for in other worlds. */
export async function addSimilarities(
  client: TextComparer,
  { embedding }: Pick<World, 'embedding'>,
  answers: readonly { spec: TaskSpec; sampled: Sampled }[],
): Promise<void> {
  if (embedding === undefined) return;
  const compared = answers.flatMap(({ spec, sampled }) => {
    const texts = embedding.comparedTexts(spec, sampled.text);
    return texts === undefined ? [] : [{ sampled, texts }];
  });
  if (compared.length === 0) return;
  const similarities = await client.compare(compared.map(({ texts }) => texts));
  for (const [index, { sampled }] of compared.entries()) sampled.similarity = similarities[index]!;
}

/** Seed of the random answers to a task of an epoch. */
export const randomAnswersSeed = (seed: number, epoch: number, taskId: string): number =>
  deriveSeed(seed, epoch, 'random-policy', taskId);

/** Answers of a policy that draws blindly: what luck alone solves. */
export function drawRandomAnswers(
  world: Pick<World, 'randomAnswer'>,
  spec: TaskSpec,
  seed: number,
  count: number,
): string[] {
  const random = randomStream(seed);
  return Array.from({ length: count }, () => world.randomAnswer(spec, random));
}

/**
 * Similarities of answers to a task; null for an answer that is not compared so. Undefined if none is, and in
 * other worlds.
 */
export async function similaritiesOf(
  client: TextComparer,
  { embedding }: Pick<World, 'embedding'>,
  spec: TaskSpec,
  answers: readonly string[],
): Promise<(number | null)[] | undefined> {
  const texts = answers.map((answer) => embedding?.comparedTexts(spec, answer));
  const pairs = texts.filter((pair) => pair !== undefined);
  if (pairs.length === 0) return undefined;
  const similarities = (await client.compare(pairs)).values();
  return texts.map((pair) => (pair === undefined ? null : similarities.next().value!));
}
