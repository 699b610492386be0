import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashOf } from '../../src/store/canonical-json.ts';
import { Ledger } from '../../src/store/ledger.ts';

test('a line’s own hash is what the next one chains to, also when an older epoch is committed again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'genenv-ledger-'));
  try {
    const ledger = new Ledger(join(folder, 'ledger.jsonl'), 'a'.repeat(64));
    const body = (epoch: number) => ({ epoch, inputs: {}, outputs: { epoch }, metrics: { loss: 0.1 } });
    const first = await ledger.append(body(0));
    expect((await ledger.head())?.sha256).toBe(hashOf(first));
    const second = await ledger.append(body(1));
    expect(second.previous).toBe(hashOf(first));
    expect(hashOf(await ledger.append(body(0)))).toBe(hashOf(first));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
