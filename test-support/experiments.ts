import { readFileSync } from 'node:fs';
import type { Experiment } from '../src/config/experiment.ts';
import { parseExperiment } from '../src/config/parse-experiment.ts';

type Json = Record<string, unknown>;

/** A whole experiment file that no tuning changes: tests may name its numbers. */
export const exampleFile: Json = {
  $schema: './experiment.schema.json',
  name: 'example',
  seed: 0,
  epochs: 90,
  arm: { type: 'genenv', preset: 'tuned' },
  world: { type: 'toolbox', maxLength: 24, baseLengths: [13, 16] },
  environment: {
    model: {
      type: 'scratch',
      architecture: { hiddenSize: 48, layers: 2, heads: 4, intermediateSize: 144 },
      warmUp: { rows: 640, batch: 64, learningRate: 0.003 },
    },
    sampling: { maxTokens: 30 },
    promptsPerEpoch: 8,
    variationsPerPrompt: 4,
  },
  agent: {
    model: {
      type: 'scratch',
      architecture: { hiddenSize: 64, layers: 2, heads: 4, intermediateSize: 192 },
      warmUp: { rows: 960, batch: 96, learningRate: 0.003 },
    },
    sampling: { maxTokens: 30 },
    training: { learningRate: 0.00015, warmupSteps: 10 },
  },
  trainer: { device: 'cpu', threads: 2 },
  durability: {
    shards: 2,
    promptsPerRequest: 16,
    heartbeatSeconds: 10,
    requestTimeoutSeconds: 8,
    epochsPerRun: 25,
  },
};

/** The content of a file in experiments/. */
export const experimentFile = (name: string): Json =>
  JSON.parse(readFileSync(new URL(`../experiments/${name}.json`, import.meta.url), 'utf8')) as Json;

/** A copy of an experiment file with fields set by dotted path; undefined takes a field out. */
export function withFields(file: Json, fields: Json): Json {
  const copy = structuredClone(file);
  for (const [path, value] of Object.entries(fields)) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let at = copy;
    for (const key of keys) at = (at[key] ??= {}) as Json;
    if (value === undefined) Reflect.deleteProperty(at, last);
    else at[last] = value;
  }
  return copy;
}

/** The example with some fields set otherwise, resolved. */
export const exampleExperiment = (fields: Json = {}): Experiment =>
  parseExperiment(withFields(exampleFile, fields));
