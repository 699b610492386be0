import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { checksOn, emptyHome, find } from './file-checks.ts';

describe('this machine', () => {
  test('lacks a model and an engine that set-up installs, and has them then', async () => {
    const home = emptyHome();
    const path = 'engine:smollm2';
    const check = () =>
      checksOn({ type: 'vllm' }, { 'agent.model.path': path, 'environment.model.path': path }, home);
    const before = await check();
    expect(find(before, 'Model engine:smollm2')).toMatchObject({
      state: 'missing',
      remedy: 'run `npm run engines -- smollm2`',
    });
    expect(find(before, 'Engine vLLM')).toMatchObject({
      state: 'missing',
      remedy: expect.stringContaining('npm run engines -- vllm') as string,
    });
    expect(find(before, 'vLLM')).toMatchObject({
      state: 'note',
      finding: expect.stringContaining(
        '`genenv run` starts it with engine:smollm2 in float32, LoRA rank 8',
      ) as string,
    });

    const folder = join(home, 'smollm2');
    mkdirSync(folder);
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ max_position_embeddings: 20 }));
    writeFileSync(
      join(folder, 'model.safetensors'),
      Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}')]),
    );
    vi.stubEnv('GENENV_ENGINE_SMOLLM2', folder);
    const after = await check();
    expect(find(after, 'Model engine:smollm2')).toMatchObject({ state: 'ok', finding: folder });
    expect(find(after, 'Longest agent prompt')).toMatchObject({
      state: 'missing',
      finding: expect.stringMatching(/there is room for 20$/) as string,
    });
    expect(find(after, 'Disk for this run')?.state).toBe('ok');
  });
});
