import { expect, test } from 'vitest';
import { childEnvironment } from '../../src/processes/child-environment.ts';

const secrets = {
  AWS_SECRET_ACCESS_KEY: 'canary-1',
  OPENAI_API_KEY: 'canary-2',
  VLLM_API_KEY: 'canary-3',
  HF_TOKEN: 'canary-4',
  HF_HUB_TOKEN: 'canary-5',
  TEMPORAL_API_KEY: 'canary-6',
  POSTGRES_PASSWORD: 'canary-7',
  GENENV_POLICY_TOKEN: 'canary-8',
  GENENV_CODEC_KEYS: 'canary-9',
  GENENV_ENGINE_KEY: 'canary-10',
  SSH_AUTH_SOCK: '/tmp/canary-11',
  HF_APIKEY: 'canary-13',
  OTEL_mySecretValue: 'canary-14',
  VLLM_authtoken: 'canary-15',
  TORCH_DBPASSWORD: 'canary-16',
  CUDA_TOKENSTORE: 'canary-17',
  VLLM_S3_PASS: 'canary-18',
  VLLM_JWT: 'canary-19',
  HF_HUB_BEARER: 'canary-20',
  HF_SESSION_COOKIE: 'canary-21',
  HF_PAT: 'canary-22',
  NCCL_PASSPHRASE: 'canary-23',
  DATABASE_URL: 'postgres://canary-12',
};

test('no secret passes, whatever it begins with', () => {
  const environment = { ...secrets, PATH: '/bin' };
  expect(childEnvironment(environment)).toEqual({ PATH: '/bin' });
});

test('what Python, torch, CUDA, vLLM and telemetry read passes', () => {
  const environment = {
    PATH: '/bin',
    HOME: '/home/a',
    LANG: 'C.UTF-8',
    LC_ALL: 'C',
    TMPDIR: '/tmp',
    CUDA_VISIBLE_DEVICES: '0',
    NVIDIA_VISIBLE_DEVICES: 'all',
    HF_HOME: '/hf',
    HF_HUB_OFFLINE: '1',
    TOKENIZERS_PARALLELISM: 'false',
    HF_TOKENIZER_CACHE: '/t',
    GENENV_LOG_LEVEL: 'info',
    VLLM_CPU_OMP_THREADS_BIND: '0',
    OMP_NUM_THREADS: '2',
    MKL_NUM_THREADS: '2',
    TORCH_HOME: '/torch',
    PYTHONPATH: '/p',
    LD_LIBRARY_PATH: '/lib',
    CUDA_PATH: '/cuda',
    TORCH_COMPASS: '1',
    HF_HUB_PATTERN: '*',
    VLLM_CPU_KVCACHE_SPACE: '2',
    GENENV_ENGINE_SMOLLM2: '/models/smollm2',
    GENENV_TRAINER_FAULT: 'crash:1',
    GENENV_STACK_HOME: '/home/a/.genenv',
    GENENV_UMASK: '027',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    TRACEPARENT: '00-aa-bb-01',
  };
  expect(childEnvironment({ ...environment, EDITOR: 'vi', GENENV_HOME: '/x' })).toEqual(environment);
});

test('an operator lets more through by name, secrets too', () => {
  expect(
    childEnvironment({ ...secrets, GENENV_CHILD_ENV: 'HF_TOKEN, SLURM_JOB_ID', SLURM_JOB_ID: '7' }),
  ).toEqual({ HF_TOKEN: 'canary-4', SLURM_JOB_ID: '7' });
  expect(() => childEnvironment({ GENENV_CHILD_ENV: 'HF_TOKEN=abc' })).toThrow(
    'GENENV_CHILD_ENV: got "HF_TOKEN=abc"; expected names of environment variables, separated by commas',
  );
});
