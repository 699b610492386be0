/** Data sets of the arms that learn from a fixed one: their candidates, before they are checked. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { emptyHistory } from '../coevolution/agent-history.ts';
import type { PoolSource } from '../config/pool-sources.ts';
import type { ChatRequest } from '../inference/chat-client.ts';
import { isCutShort } from '../inference/policy-client.ts';
import { deriveSeed, randomStream } from '../numerics/random.ts';
import type { RandomStream } from '../numerics/random.ts';
import { batchPrompts, openChatClient, openCompletionClient } from '../rollouts/completion-requests.ts';
import type { ModelDependencies } from '../rollouts/completion-requests.ts';
import type { Phase } from '../runtime/run-once.ts';
import { parseOrNull } from '../store/json-files.ts';
import type { PolicyVersion } from '../types/run-state.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { World } from '../worlds/world.ts';
import { rejectContaminated, structuredOutput } from './generate-candidates.ts';

/** Candidates for tasks, and the tokens they took. */
export interface WrittenDataset {
  texts: string[];
  tokens: number;
}

/** The texts of an arm's data set, from its simulator, another model or a file. */
export function datasetTexts(
  dependencies: ModelDependencies,
  context: Phase,
  simulator: PolicyVersion,
  baseTasks: readonly string[],
): Promise<WrittenDataset> {
  const { arm } = context.experiment;
  if (arm.type === 'static')
    return generateVariations(dependencies, context, { simulator, variations: arm.variations }, baseTasks);
  if (arm.type !== 'offline') throw new Error(`the arm ${arm.type} has no data set`);
  const { source, multiple } = arm;
  const count = Math.ceil(multiple * baseTasks.length);
  switch (source.type) {
    case 'file':
      return readTaskFile(dependencies, context.world, source, count);
    case 'code':
      return Promise.resolve({ texts: drawUniform(context, count), tokens: 0 });
    case 'model':
      return generateOffline(dependencies, context, { ...source, multiple }, baseTasks);
  }
}

/** Draws of the world's code, which stand in for a strong model's data set. */
function drawUniform({ experiment: { seed }, world }: Phase, count: number): string[] {
  const random = randomStream(deriveSeed(seed, 'offline', 'code'));
  return Array.from({ length: count }, () => world.uniformTask!(random));
}

/** The frozen simulator's variations of each base task. */
async function generateVariations(
  dependencies: ModelDependencies,
  context: Phase,
  { simulator, variations }: { simulator: PolicyVersion; variations: number },
  baseTasks: readonly string[],
): Promise<WrittenDataset> {
  const { experiment, world } = context;
  const { seed, environment, durability } = experiment;
  const planned = batchPrompts(baseTasks, durability.promptsPerRequest, (chunk, index) => ({
    model: simulator.name,
    prompts: chunk.map((spec) => world.environmentPrompt(emptyHistory(), spec)),
    n: variations,
    seed: deriveSeed(seed, 'write-pool', index),
    temperature: environment.sampling.temperature,
    maxTokens: environment.sampling.maxTokens,
    ...structuredOutput(experiment, world),
  }));
  await using client = await openCompletionClient(dependencies, context, {
    requests: planned.length,
    policies: [simulator],
  });
  const texts: string[] = [];
  for (const { request } of planned) {
    for (const completion of await client.complete(request))
      texts.push(isCutShort(completion) ? '' : completion.text);
  }
  return { texts, tokens: client.usage.tokens };
}

/** Another model's variations of the base tasks: `multiple` of them a base task. */
async function generateOffline(
  dependencies: ModelDependencies,
  { experiment: { seed, durability }, work }: Phase,
  source: Extract<PoolSource, { type: 'model' }> & { multiple: number },
  baseTasks: readonly string[],
): Promise<WrittenDataset> {
  const { model, temperature, maxTokens, multiple } = source;
  const requests: { count: number; request: ChatRequest }[] = [];
  for (const [index, spec] of baseTasks.entries()) {
    // Spread evenly if the multiple is not a whole number.
    const count = Math.ceil((index + 1) * multiple) - Math.ceil(index * multiple);
    if (count === 0) continue;
    const requestSeed = deriveSeed(seed, 'offline', index);
    const messages = offlinePrompt(baseTasks, spec, count, randomStream(requestSeed));
    requests.push({
      count,
      request: { model, messages, seed: requestSeed % 2 ** 31, temperature, maxTokens },
    });
  }
  const server = dependencies.chatClient(source, durability.requestTimeoutSeconds * 1000);
  await using client = await openChatClient(dependencies, work, server, requests.length);
  const texts: string[] = [];
  for (const { count, request } of requests) {
    const { text } = await client.complete(request);
    texts.push(...nonEmptyLines(text).slice(0, count));
  }
  return { texts, tokens: client.usage.tokens };
}

const rowSchema = z.object({ spec: z.string() });

/** The first `max` tasks of a JSONL file. */
async function readTaskFile(
  { readDataFile }: Pick<ModelDependencies, 'readDataFile'>,
  world: World,
  { path, sha256 }: Extract<PoolSource, { type: 'file' }>,
  max: number,
): Promise<WrittenDataset> {
  const bytes = await readDataFile('arm.source.path', path);
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== null && hash !== sha256)
    throw new InvalidConfig(`experiment: arm.source.sha256: got ${sha256}; ${path} has another`);
  const lines = nonEmptyLines(bytes.toString('utf8')).slice(0, max);
  const texts = lines.map((line, index) => {
    const place = `arm.source.path: ${path} line ${index + 1}`;
    const row = rowSchema.safeParse(parseOrNull(line));
    if (!row.success) throw new InvalidConfig(`experiment: ${place}: it is not {"spec": "…"}`);
    const { spec } = row.data;
    const parsed = world.parseTask(spec);
    if (parsed.valid) rejectContaminated(world, parsed.spec, place);
    return spec;
  });
  return { texts, tokens: 0 };
}

const nonEmptyLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const EXAMPLE_TASKS = 8;

/**
 * Asks for variations of a base task in the world's own text, which the model knows from examples alone: so
 * one prompt serves all worlds.
 */
function offlinePrompt(
  baseTasks: readonly string[],
  seedTask: string,
  count: number,
  random: RandomStream,
): ChatRequest['messages'] {
  const examples = random.shuffle(baseTasks).slice(0, EXAMPLE_TASKS).join('\n');
  const tasks = count === 1 ? 'task' : 'tasks';
  return [
    {
      role: 'system',
      content:
        'You write training tasks for an agent. A task is one line, in exactly the form of the examples. ' +
        'Answer with tasks alone, one a line: no numbers, no comments.',
    },
    {
      role: 'user',
      content:
        `Examples:\n${examples}\n\n` +
        `Write ${count} new ${tasks}, none of them among the examples, as variations of:\n${seedTask}`,
    },
  ];
}
