import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { emptyHistory } from '../coevolution/agent-history.ts';
import type { PoolSource } from '../config/arms.ts';
import type { ChatRequest } from '../inference/chat-client.ts';
import { deriveSeed, randomStream } from '../numerics/random.ts';
import type { RandomStream } from '../numerics/random.ts';
import { streamChatCompletions } from '../rollouts/chat-requests.ts';
import { batchPrompts, streamCompletions } from '../rollouts/completion-requests.ts';
import type { ModelDependencies, SamplingUsage } from '../rollouts/completion-requests.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { PolicyVersion } from '../types/activity-types.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { World } from '../worlds/world.ts';
import { rejectContaminated, structuredOutput } from './generate-candidates.ts';

/** Texts that ought to be tasks, and the tokens they took. */
export interface WrittenDataset {
  texts: string[];
  tokens: number;
}

/** The texts of an arm's data set, from its simulator, another model or a file. */
export function datasetTexts(
  dependencies: ModelDependencies,
  context: Phase,
  simulator: PolicyVersion,
  base: readonly string[],
): Promise<WrittenDataset> {
  const { arm } = context.experiment;
  if (arm.type === 'static') return bySimulator(dependencies, context, simulator, arm.variations, base);
  if (arm.type !== 'offline') throw new Error(`the arm ${arm.type} has no data set`);
  return arm.source.type === 'file'
    ? fromFile(context.world, arm.source, Math.ceil(arm.multiple * base.length))
    : byModel(dependencies, context, arm.source, arm.multiple, base);
}

async function bySimulator(
  dependencies: ModelDependencies,
  context: Phase,
  simulator: PolicyVersion,
  variations: number,
  base: readonly string[],
): Promise<WrittenDataset> {
  const { seed, environment, durability } = context.experiment;
  const planned = batchPrompts(base, durability.promptsPerRequest, (chunk, index) => ({
    model: simulator.name,
    prompts: chunk.map((spec) => context.world.environmentPrompt(emptyHistory(), spec)),
    n: variations,
    seed: deriveSeed(seed, 'write-pool', index),
    temperature: environment.sampling.temperature,
    maxTokens: environment.sampling.maxTokens,
    ...structuredOutput(context.experiment, context.world),
  }));
  const texts: string[] = [];
  const count: SamplingUsage = { tokens: 0, retried: 0 };
  for await (const { completions } of streamCompletions(dependencies, context, planned, {
    requests: planned.length,
    policies: [simulator],
    count,
  })) {
    for (const { text, finish_reason } of completions) texts.push(finish_reason === 'length' ? '' : text);
  }
  return { texts, tokens: count.tokens };
}

async function byModel(
  dependencies: ModelDependencies,
  context: Phase,
  source: Extract<PoolSource, { type: 'model' }>,
  multiple: number,
  base: readonly string[],
): Promise<WrittenDataset> {
  const { seed, durability } = context.experiment;
  const server = dependencies.chatClient(source, durability.requestTimeoutSeconds * 1000);
  const asked = base.flatMap((spec, index) => {
    // Spread evenly where the multiple is no whole number.
    const count = Math.ceil((index + 1) * multiple) - Math.ceil(index * multiple);
    const at = deriveSeed(seed, 'offline', index);
    const { model, temperature, maxTokens } = source;
    return count === 0
      ? []
      : [
          {
            count,
            request: {
              model,
              messages: offlinePrompt(base, spec, count, randomStream(at)),
              seed: at % 2 ** 31,
              temperature,
              maxTokens,
            },
          },
        ];
  });
  const all: WrittenDataset = { texts: [], tokens: 0 };
  for await (const { item, answer } of streamChatCompletions(dependencies, context, server, asked)) {
    all.tokens += answer.tokens;
    all.texts.push(...linesOf(answer.text).slice(0, item.count));
  }
  return all;
}

const rowSchema = z.object({ spec: z.string() });

async function fromFile(
  world: World,
  { path, sha256 }: Extract<PoolSource, { type: 'file' }>,
  most: number,
): Promise<WrittenDataset> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new InvalidConfig(
      `experiment: arm.source.path: got ${JSON.stringify(path)}; ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== null && hash !== sha256)
    throw new InvalidConfig(`experiment: arm.source.sha256: got ${sha256}; ${path} has ${hash}`);
  const texts = linesOf(bytes.toString('utf8'))
    .slice(0, most)
    .map((line, index) => {
      const row = rowSchema.safeParse(parsedJson(line));
      if (!row.success)
        throw new InvalidConfig(
          `experiment: arm.source.path: ${path} line ${index + 1}: got ${line.slice(0, 80)}; expected {"spec": "…"}`,
        );
      const parsed = world.parseTask(row.data.spec);
      if (parsed.valid) rejectContaminated(world, parsed.spec, `arm.source.path: ${path} line ${index + 1}`);
      return row.data.spec;
    });
  return { texts, tokens: 0 };
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

function parsedJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const shown = 8;

/**
 * Asks for variations of a base task in the world's own text, which it knows from examples alone: so one
 * prompt serves all worlds.
 */
export function offlinePrompt(
  base: readonly string[],
  seedTask: string,
  count: number,
  random: RandomStream,
): ChatRequest['messages'] {
  return [
    {
      role: 'system',
      content:
        'You write training tasks for an agent. A task is one line, in exactly the form of the examples. Answer with tasks alone, one a line: no numbers, no comments.',
    },
    {
      role: 'user',
      content: `Examples:\n${random.shuffle(base).slice(0, shown).join('\n')}\n\nWrite ${count} new ${count === 1 ? 'task' : 'tasks'}, none of them among the examples, as variations of:\n${seedTask}`,
    },
  ];
}
