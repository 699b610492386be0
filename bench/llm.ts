import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { engineFolder, engineModelFolder } from '../infra/setup/locations.mjs';
import { VllmServer } from '../src/dev-stack/services/vllm-server.ts';
import { Python } from '../src/processes/python.ts';
import { llmRollouts } from './llm-rollouts.ts';
import { runPython } from './python.ts';

const readyMs = 900_000;

/**
 * A pretrained model of 135 million parameters and a vocabulary of 49,152: the trainer's step beside TRL's, our
 * rollouts through vLLM beside the barest client's, and the embedded policy server beside vLLM. What is not
 * installed is left out, with the reason.
 */
export async function llm(): Promise<Record<string, unknown>> {
  const model = engineModelFolder('smollm2');
  if (model === null || !existsSync(join(model, 'config.json')))
    return { skipped: 'there is no SmolLM2 here: `npm run engines -- smollm2` installs it' };
  const step = runPython('llm_step.py', ['--model', model], { OMP_NUM_THREADS: '1' });
  const python = join(engineFolder('vllm'), 'bin', 'python');
  if (!existsSync(python)) {
    const sampling = runPython('llm_sampling.py', ['--model', model]);
    return { step, sampling: { ...sampling, skipped: 'there is no vLLM here: `npm run engines -- vllm`' } };
  }
  const settings = { model, precision: 'float32', maxLoraRank: 16, maxModelLen: 512 } as const;
  const server = new VllmServer(new Python(python, process.env), settings, { ports: {}, token: undefined });
  const { command, args, env } = await server.launch();
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await untilReady(server, child);
    const address = server.url.replace(/\/v1$/, '');
    const options = ['--model', model, '--vllm', address, '--vllm-pid', String(child.pid)];
    const rollouts = await llmRollouts(server.url, model);
    return { step, rollouts, sampling: runPython('llm_sampling.py', options) };
  } finally {
    child.kill();
  }
}

async function untilReady(server: VllmServer, child: ChildProcess): Promise<void> {
  const begun = Date.now();
  while (Date.now() - begun < readyMs) {
    if (child.exitCode !== null) throw new Error(`vLLM ended with ${child.exitCode} before it answered`);
    if (await server.answers().catch(() => false)) return;
    await sleep(1_000);
  }
  throw new Error(`vLLM did not answer within ${readyMs / 1000} s`);
}
