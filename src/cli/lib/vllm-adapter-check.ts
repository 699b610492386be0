import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Call } from '../../inference/server-calls.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';

/**
 * Whether adapters of a rank can be loaded: the server is given a folder that has the settings of one, and no
 * weights. It reads the settings first, and refuses a rank that is too large.
 * @param store which the server is to read adapters from; undefined before the first run
 * @throws ModelUnavailable
 */
export async function checkVllmAdapters(call: Call, rank: number, store: string | undefined): Promise<Check> {
  const folder = mkdtempSync(join(store ?? tmpdir(), 'genenv-doctor-'));
  try {
    const settings = {
      ...{ peft_type: 'LORA', task_type: 'CAUSAL_LM', bias: 'none' },
      ...{ r: rank, lora_alpha: rank, target_modules: ['q_proj'] },
    };
    writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(settings));
    const answer = await call('/v1/load_lora_adapter', { lora_name: 'genenv-doctor', lora_path: folder });
    return checkAnswer(answer, { folder, isStored: store !== undefined, rank });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkAnswer(
  { status, text }: { status: number; text: string },
  { folder, isStored, rank }: { folder: string; isStored: boolean; rank: number },
): Check {
  const wrong = (finding: string, remedy: string): Check => missing('Adapters', finding, remedy);
  const flags = `--enable-lora --max-lora-rank ${rank}`;
  if (/contain tensors/i.test(text))
    return ok('Adapters', `can be loaded up to rank ${rank}, from ${isStored ? 'the store' : folder}`);
  if (text.includes('max_lora_rank'))
    return wrong(
      /LoRA rank[^"]*max_lora_rank \d*/.exec(text)?.[0] ?? text.slice(0, 200),
      `start it with --max-lora-rank ${rank}`,
    );
  if (/no adapter/i.test(text) || text.includes(folder)) {
    const unread = `the server cannot read ${folder}`;
    const remedy =
      'let it see the store under the same absolute path (a shared folder, or a mount of the container)';
    return isStored
      ? wrong(`can be loaded, but ${unread}`, remedy)
      : note('Adapters', `can be loaded; ${unread}, and there is no store yet`, remedy);
  }
  if (/lora is not enabled|not supported|enable.lora/i.test(text))
    return wrong('LoRA is not enabled', `start it with ${flags}`);
  if (status === 404 || status === 405)
    return wrong(
      `cannot be loaded while it runs (status ${status})`,
      'start it with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True in its environment',
    );
  return wrong(
    `answered ${status}: ${text.slice(0, 200)}`,
    `start it with ${flags} and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True`,
  );
}
