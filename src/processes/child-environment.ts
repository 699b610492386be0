/** What trainers, model servers and other child processes get of the environment: never a key of the worker's. */
import { InvalidConfig } from '../validation/invalid-config.ts';

/** Variables that they read by their exact names. */
const names = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'LANGUAGE', 'TZ'],
  ...['TMPDIR', 'TMP', 'TEMP', 'XDG_CACHE_HOME', 'LD_LIBRARY_PATH', 'LD_PRELOAD', 'DYLD_LIBRARY_PATH'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'TRACEPARENT', 'TRACESTATE', 'DO_NOT_TRACK'],
  // The mark of the embedded stack, by which its processes are found again.
  ...['GENENV_STACK_HOME', 'GENENV_UMASK'],
  // Where the cluster's configuration is, which Slurm's programs read.
  'SLURM_CONF',
]);

/** Beginnings of the names of variables that libraries read. */
const prefixes = [
  ...['LC_', 'PYTHON', 'CUDA_', 'NVIDIA_', 'NCCL_', 'CUBLAS_', 'CUDNN_', 'ROCR_', 'HIP_', 'HSA_'],
  ...['OMP_', 'KMP_', 'GOMP_', 'MKL_', 'OPENBLAS_', 'NUMEXPR_', 'MALLOC_'],
  ...['TORCH', 'PYTORCH_', 'TRITON_', 'HF_', 'TRANSFORMERS_', 'TOKENIZERS_', 'SAFETENSORS_', 'VLLM_'],
  ...['OTEL_', 'GENENV_ENGINE_', 'GENENV_TRAINER_', 'GENENV_METRICS_', 'GENENV_LOG_', 'GENENV_TELEMETRY_'],
];

/**
 * What says in a name that its value is a secret: some words anywhere, as in `HF_APIKEY`, others between
 * underscores, as in `HF_PAT`, since `PYTHONPATH` is none. Settings of tokenizers are none.
 */
const secretPart =
  /TOKEN(?!IZ)|KEY|SECRET|PASS(?:W|PHRASE)|CREDENTIAL|(?:^|_)(?:AUTH|PASS|PAT|JWT|BEARER|COOKIE)(?:_|$)/i;

/** The variable by which an operator lets more through: names, separated by commas. */
export const CHILD_VARIABLES = 'GENENV_CHILD_ENV';

/**
 * The environment of a child process: what it may know of this one's, by an allow-list. A name that looks like a
 * secret passes only if `GENENV_CHILD_ENV` has it.
 * @throws InvalidConfig naming GENENV_CHILD_ENV, if it holds something else than names
 */
export function childEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  const added = new Set(addedNames(environment[CHILD_VARIABLES]));
  const passes = (name: string): boolean =>
    added.has(name) ||
    names.has(name) ||
    (!secretPart.test(name) && prefixes.some((prefix) => name.startsWith(prefix)));
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && passes(entry[0]),
    ),
  );
}

function addedNames(value = ''): string[] {
  const list = value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const wrong = list.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined)
    throw new InvalidConfig(
      `${CHILD_VARIABLES}: got ${JSON.stringify(wrong.slice(0, 40))}; expected names of environment variables, ` +
        'separated by commas',
    );
  return list;
}
