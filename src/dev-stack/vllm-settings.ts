/** What the vLLM of a stack is started for: it follows from experiment files, and its flags from it. */
import { totalmem } from 'node:os';
import type { Experiment } from '../config/experiment.ts';
import { modelFolder, modelPositions } from '../config/model-folder.ts';
import { outsideAddresses, vllmRanks } from '../config/serving.ts';

export interface VllmSettings {
  /** Path of the base model, as files name it. */
  model: string;
  precision: 'float32' | 'bfloat16';
  /** At least the rank of every policy. */
  maxLoraRank: number;
  /** Most tokens of a prompt with its answer; null = as many as the model has positions. */
  maxModelLen: number | null;
}

/** Largest rank of the policies' adapters. */
export const adapterRank = ({ agent, environment }: Pick<Experiment, 'agent' | 'environment'>): number =>
  Math.max(
    ...[agent.model, environment.model].map((model) =>
      model.type === 'pretrained' ? (model.adapter?.r ?? 1) : 1,
    ),
  );

/** What a file's adapters ask of vLLM, be it managed or outside; null if nothing is published to one. */
export function vllmSettings({ serving, agent, environment, trainer }: Experiment): VllmSettings | null {
  if (serving.type !== 'vllm' && !(serving.type === 'openai' && serving.publish === 'vllm-lora')) return null;
  const { model } = agent;
  if (model.type !== 'pretrained') return null;
  const rank = adapterRank({ agent, environment });
  return {
    model: model.path,
    precision: (serving.type === 'vllm' ? serving.precision : undefined) ?? trainer.precision,
    maxLoraRank: vllmRanks.find((allowed) => allowed >= rank) ?? rank,
    maxModelLen: (serving.type === 'vllm' ? serving.maxModelLen : undefined) ?? null,
  };
}

/** As `vllmSettings`, if the embedded stack is to start the server. */
export const managedVllm = (experiment: Experiment): VllmSettings | null =>
  experiment.serving.type === 'vllm' && outsideAddresses(experiment.serving).length === 0
    ? vllmSettings(experiment)
    : null;

/**
 * One server for both; null if no server can serve both.
 * @param second may come later: what is `first` stays as it is, but for larger limits
 */
export function combineVllm(first: VllmSettings | null, second: VllmSettings | null): VllmSettings | null {
  if (first === null || second === null) return first ?? second;
  if (first.model !== second.model || first.precision !== second.precision) return null;
  const lengths = [first.maxModelLen, second.maxModelLen];
  return {
    ...first,
    maxLoraRank: Math.max(first.maxLoraRank, second.maxLoraRank),
    maxModelLen: lengths.includes(null) ? null : Math.max(...lengths.map(Number)),
  };
}

/** Tokens that the benchmarks' single questions take with their answers; a run's own prompts take fewer. */
const BENCHMARK_LENGTH = 4096;

/** The same with room for questions of benchmarks, as far as the model has positions. */
export function withBenchmarkLength(settings: VllmSettings): VllmSettings {
  const { model, maxModelLen } = settings;
  if (maxModelLen === null || maxModelLen >= BENCHMARK_LENGTH) return settings;
  const positions = modelPositions(modelFolder(model)) ?? maxModelLen;
  return { ...settings, maxModelLen: Math.max(maxModelLen, Math.min(BENCHMARK_LENGTH, positions)) };
}

export const vllmText = ({ model, precision, maxLoraRank, maxModelLen }: VllmSettings): string =>
  `${model} in ${precision}, LoRA rank ${maxLoraRank}, ` +
  (maxModelLen === null ? 'all positions of the model' : `${maxModelLen} tokens`);

/** Adapters of one batch: both policies and both initial ones. */
const MAX_LORAS = 4;
/** Kept in memory beside them: the epoch before, and the gate's. More are read from the store again. */
const MAX_CPU_LORAS = 8;
/** Tokens of prompts in one step of the engine: more takes more memory, not less time. */
const MIN_BATCHED_TOKENS = 8192;
const MAX_SEQUENCES = 256;

/** Name that the base model itself is served under. */
export const BASE_MODEL = 'base';

/** The flags of vLLM's server, by which it does what the client relies on. */
export function vllmFlags(settings: VllmSettings): string[] {
  const { precision, maxLoraRank, maxModelLen } = settings;
  const folder = modelFolder(settings.model);
  const length = maxModelLen ?? modelPositions(folder);
  return [
    ...['--model', folder, '--served-model-name', BASE_MODEL],
    ...['--enable-lora', '--max-lora-rank', String(maxLoraRank)],
    ...['--max-loras', String(MAX_LORAS), '--max-cpu-loras', String(MAX_CPU_LORAS)],
    ...['--dtype', precision],
    ...(length === null ? [] : ['--max-model-len', String(length)]),
    // Log-probabilities of the distribution that was sampled from, which the trainer recomputes.
    ...['--logprobs-mode', 'processed_logprobs'],
    // No sampling defaults of the model's folder.
    ...['--generation-config', 'vllm'],
    // A request with a seed whose prompt is read in parts kills the engine of the processor build.
    '--no-enable-chunked-prefill',
    ...['--max-num-batched-tokens', String(Math.max(length ?? 0, MIN_BATCHED_TOKENS))],
    ...['--max-num-seqs', String(MAX_SEQUENCES)],
    // Else a grammar of JSON lets a model write white space without end.
    ...['--structured-outputs-config', '{"backend": "xgrammar", "disable_any_whitespace": true}'],
    // Nothing to compile for, on a processor.
    '--enforce-eager',
    '--disable-uvicorn-access-log',
  ];
}

const GIB = 2 ** 30;
const FEW_PROCESSORS = 4;

/** Environment of the server; what the user has set wins. @param processors that it may use */
export const vllmEnvironment = (processors: number): Record<string, string> => ({
  VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True',
  // An eighth of the memory, in whole GiB: 2 GiB hold 40,000 tokens of a model of 135 million parameters.
  VLLM_CPU_KVCACHE_SPACE: String(Math.min(16, Math.max(1, Math.floor(totalmem() / 8 / GIB)))),
  OMP_NUM_THREADS: String(processors),
  // By itself vLLM keeps one processor free of the model's threads: on two, that is half of them.
  ...(processors <= FEW_PROCESSORS && { VLLM_CPU_OMP_THREADS_BIND: 'nobind' }),
  // On a busy machine a step that reads many prompts takes longer than the 300 s after which vLLM ends its engine.
  VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS: '3600',
  VLLM_NO_USAGE_STATS: '1',
  DO_NOT_TRACK: '1',
  HF_HUB_OFFLINE: '1',
  TRANSFORMERS_OFFLINE: '1',
});
