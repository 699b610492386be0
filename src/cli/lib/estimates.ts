import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pythonPath } from '../../../infra/setup/locations.mjs';
import type { Experiment } from '../../config/experiment.ts';
import { modelFolder, modelPositions } from '../../config/model-folder.ts';
import { positionsFromScratch } from '../../config/models.ts';
import type { ModelSettings } from '../../config/models.ts';
import { servedName, servingOf } from '../../config/policy-servers.ts';
import { Python } from '../../processes/python.ts';
import { estimateBucket } from '../../runs/bucket-estimate.ts';
import { estimateDisk } from '../../runs/disk-estimate.ts';
import type { DiskEstimate } from '../../runs/disk-estimate.ts';
import {
  countCharacters,
  estimateTokens,
  longestRequests,
  measurePrompts,
  promptTexts,
} from '../../runs/prompt-sizes.ts';
import type { PromptSizes } from '../../runs/prompt-sizes.ts';
import type { Quotas } from '../../runs/quotas.ts';
import { estimateResources } from '../../runs/resource-estimate.ts';
import type { ResourceEstimate } from '../../runs/resource-estimate.ts';
import type { World } from '../../worlds/world.ts';
import { CliError } from '../context.ts';
import { byteText, countText } from './text.ts';

/** Everything that is known of a run before it starts. */
export interface RunEstimate {
  resources: ResourceEstimate;
  disk: DiskEstimate;
  prompts: PromptSizes;
  /** Whether prompts were tokenized by the model's own tokenizer; else their bytes were counted. */
  isTokenized: boolean;
  /** The most tokens that a request of each role needs. */
  longest: { agent: number; environment: number };
}

export async function estimateRun(experiment: Experiment, world: World): Promise<RunEstimate> {
  const texts = promptTexts(experiment, world);
  const counter = tokenCounter(experiment.agent.model);
  const prompts = await measurePrompts(texts, counter ?? estimateTokens);
  const resources = estimateResources(experiment, world);
  return {
    resources,
    prompts,
    isTokenized: counter !== null,
    disk: estimateDisk(experiment, world, resources, prompts),
    longest: longestRequests(experiment, world, prompts),
  };
}

/** Positions of a model; null if its folder is not on this machine. */
const positionsOf = (model: ModelSettings): number | null =>
  model.type === 'scratch' ? positionsFromScratch : modelPositions(modelFolder(model.path));

const TOKENIZE = `import json, sys
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
print(json.dumps([len(entry.ids) for entry in tokenizer.encode_batch(json.load(sys.stdin))]))`;

/** The limit that the file sets on a policy's server; undefined without one. */
export function serverRoom(experiment: Experiment, role: 'agent' | 'environment'): number | undefined {
  const serving = servingOf(experiment, role);
  return serving.type === 'vllm' ? serving.maxModelLen : undefined;
}

/** The most tokens of a prompt with its answer; null if it is not known. */
export const roomOf = (experiment: Experiment, role: 'agent' | 'environment'): number | null =>
  serverRoom(experiment, role) ??
  (servedName(experiment, role) === null ? positionsOf(experiment[role].model) : null);

type TokenCounter = (texts: readonly string[]) => number[] | Promise<number[]>;

/** Counts as the model's own tokenizer does; null if that is not on this machine. */
function tokenCounter(model: ModelSettings): TokenCounter | null {
  if (model.type === 'scratch') return countCharacters;
  const file = join(modelFolder(model.path), 'tokenizer.json');
  const python = new Python(pythonPath(), process.env);
  if (!existsSync(file) || !existsSync(python.path)) return null;
  return async (texts) => {
    const counts = await python
      .run(['-c', TOKENIZE, file], { input: JSON.stringify(texts) })
      .catch((cause: unknown) => {
        throw new CliError(`${file}: ${(cause as Error).message}`);
      });
    return JSON.parse(counts) as number[];
  };
}

/** Tokens of all prompts that are sent. */
export const promptTokensRead = (sent: ResourceEstimate['prompts'], prompts: PromptSizes): number =>
  (sent.simulator + sent.wording) * prompts.simulator.mean +
  (sent.agent + sent.vote) * prompts.agent.mean +
  sent.repair * (prompts.repair?.mean ?? 0);

/** How many tokens prompts take, and whether the longest fits: lines for people. */
export function promptLines(experiment: Experiment, estimate: RunEstimate): string[] {
  const { resources, prompts, longest, isTokenized } = estimate;
  const read = promptTokensRead(resources.prompts, prompts);
  const how = isTokenized ? '' : ', by their bytes';
  const lines = [
    `prompts     about ${countText(read)} tokens read${how}; one of the simulator about ` +
      `${countText(prompts.simulator.mean)}, of the agent ${countText(prompts.agent.mean)}`,
  ];
  for (const role of ['environment', 'agent'] as const) {
    const limit = roomOf(experiment, role);
    const share = limit === null ? '' : ` of ${countText(limit)}`;
    const problem =
      limit !== null && longest[role] > limit ? ': TOO LONG, such prompts are not answered' : '';
    lines.push(
      `longest     ${role}: ${countText(longest[role])} tokens${share}, prompt and answer${problem}`,
    );
  }
  return lines;
}

export function diskLines({ disk }: RunEstimate): string[] {
  const { policies, records, working, unknown } = disk;
  return [
    `disk        about ${byteText(policies + records)} in the store before \`genenv gc\`: ${byteText(policies)} weights and ` +
      `optimizer states, ${byteText(records)} records`,
    ...(working > 0 ? [`            and up to ${byteText(working)} while both policies are trained`] : []),
    ...unknown.map((path) => `            without the policies of ${path}, which is not on this machine`),
  ];
}

/** What the run is in a bucket, where one is used. */
export function bucketLine(experiment: Experiment, { resources }: RunEstimate): string {
  const { objects, writes, reads, lists, removals } = estimateBucket(experiment, resources);
  return (
    `bucket      if the store is in one: about ${countText(objects)} objects; ${countText(writes)} writes, ` +
    `${countText(reads)} reads, ${countText(lists)} lists, ${countText(removals)} removals`
  );
}

/** What the operator lets a run use, and whether this one may come to its end within it. */
export function quotaLines({ maxTokens, maxDiskBytes }: Quotas, { resources, disk }: RunEstimate): string[] {
  const limits = [
    ...(maxTokens === undefined ? [] : [`${countText(maxTokens)} tokens`]),
    ...(maxDiskBytes === undefined ? [] : [`${byteText(maxDiskBytes)} of files`]),
  ];
  if (limits.length === 0) return [];
  const isBeyond =
    resources.tokens > (maxTokens ?? Infinity) || disk.policies + disk.records > (maxDiskBytes ?? Infinity);
  const outcome = isBeyond ? '; the run may end before its last epoch' : '';
  return [
    `quota       ${limits.join(', ')} a run, by GENENV_MAX_TOKENS_PER_RUN and GENENV_MAX_DISK_PER_RUN${outcome}`,
  ];
}
