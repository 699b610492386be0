/** How large a policy's files are, from its settings and the folder of its base model. */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { modelFolder, parseModelJson } from '../config/model-folder.ts';
import type { ModelSettings } from '../config/models.ts';
import { sum } from '../numerics/arithmetic.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';

export interface ModelSize {
  /** Parameters that are trained, and stored in every checkpoint. */
  trained: number;
  /** Bytes of a checkpoint besides its weights: tokenizer, configuration, names of tensors. */
  extra: number;
}

/** Bytes of a weight, and of the two moments that AdamW keeps of it. */
const WEIGHT_BYTES = 4;
const MOMENT_BYTES = 8;
/** Random state and counters of the trainer. */
const STATE_BYTES = 7_000;
const CONFIGURATION_BYTES = 3_000;
/** Name, shape and place of a tensor in a file. */
const TENSOR_BYTES = 130;
/** Two tensors of an adapter for each layer that it changes. */
const TENSORS_PER_MODULE = 2;

export const checkpointBytes = ({ trained, extra }: ModelSize): number => trained * WEIGHT_BYTES + extra;
export const trainerStateBytes = ({ trained }: ModelSize): number => trained * MOMENT_BYTES + STATE_BYTES;
/** Of an unfinished job: its two last step checkpoints, each with weights and moments. */
export const stepCheckpointBytes = ({ trained }: ModelSize): number =>
  2 * (trained * (WEIGHT_BYTES + MOMENT_BYTES) + STATE_BYTES);

/** The size of a policy; null if its base model is not on this machine. @param vocabulary of the world */
export function modelSize(model: ModelSettings, vocabulary: number): ModelSize | null {
  if (model.type === 'scratch')
    return { trained: countFromScratch(model, vocabulary), extra: CONFIGURATION_BYTES + 20 * vocabulary };
  const folder = modelFolder(model.path);
  const tensors = readTensors(folder);
  if (tensors === null) return null;
  // The trainer copies no tokenizer that every machine has.
  const hasCopy = model.adapter === null || folder === model.path;
  const extra = CONFIGURATION_BYTES + (hasCopy ? tokenizerBytes(folder) : 0);
  if (model.adapter === null)
    return {
      trained: sum(tensors.map(({ shape }) => product(shape))),
      extra: extra + tensors.length * TENSOR_BYTES,
    };
  const { r, targetModules } = model.adapter;
  const changed = tensors.filter(
    ({ name, shape }) =>
      shape.length === 2 && targetModules.some((module) => name.endsWith(`.${module}.weight`)),
  );
  return {
    trained: sum(changed.map(({ shape }) => r * sum(shape))),
    extra: extra + changed.length * TENSORS_PER_MODULE * TENSOR_BYTES,
  };
}

function countFromScratch(
  { architecture }: Extract<ModelSettings, { type: 'scratch' }>,
  vocabulary: number,
): number {
  const { hiddenSize: h, layers, intermediateSize, tieEmbeddings } = architecture;
  return (
    vocabulary * h * (tieEmbeddings ? 1 : 2) + layers * (4 * h * h + 3 * h * intermediateSize + 2 * h) + h
  );
}

const product = (factors: readonly number[]): number =>
  factors.reduce((result, factor) => result * factor, 1);

/** What every checkpoint copies from the base model (`TOKENIZER_FILES` of the trainer). */
const TOKENIZER_FILE =
  /^(tokenizer(_config)?\.json|special_tokens_map\.json|added_tokens\.json|vocab\.(json|txt)|merges\.txt|(tokenizer|spiece)\.model|chat_template\.(jinja|json))$/;

const tokenizerBytes = (folder: string): number =>
  sum(
    readdirSync(folder)
      .filter((name) => TOKENIZER_FILE.test(name))
      .map((name) => statSync(join(folder, name)).size),
  );

interface Tensor {
  name: string;
  shape: number[];
}

/**
 * The tensors of a Hugging Face folder, from the headers of its safetensors files; null if it has none.
 * @throws InvalidConfig for another file in the place of one, such as the pointer of Git LFS
 */
function readTensors(folder: string): Tensor[] | null {
  if (!existsSync(folder)) return null;
  const files = readdirSync(folder).filter((name) => name.endsWith('.safetensors'));
  return files.length === 0 ? null : files.flatMap((name) => readHeader(join(folder, name)));
}

function readHeader(path: string): Tensor[] {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(8);
    readSync(file, start);
    const length = start.readBigUInt64LE();
    if (length > fstatSync(file).size)
      throw new InvalidConfig(`${path}: no safetensors file; put the file of the model there again`);
    const header = Buffer.alloc(Number(length));
    readSync(file, header);
    const tensors = parseModelJson(path, header.toString('utf8')) as Record<string, { shape?: number[] }>;
    return Object.entries(tensors).flatMap(([name, { shape }]) =>
      shape === undefined ? [] : [{ name, shape }],
    );
  } finally {
    closeSync(file);
  }
}
