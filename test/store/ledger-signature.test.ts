import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { signatureProblem, signLedger } from '../../src/runs/ledger-signature.ts';
import { someStore } from './some-run.ts';

function keys(): { secret: string; open: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    secret: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    open: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

test('a signature holds for the run that was signed, and for no other ledger, run or key', async () => {
  const { someRun } = await someStore();
  const [{ run }, { run: another }] = [await someRun('a', 3), await someRun('b', 3)];
  const { secret, open } = keys();
  const signature = await signLedger(run, secret);
  expect(await signatureProblem(run, signature, open)).toBeUndefined();
  expect(await signatureProblem(run, signature, keys().open)).toContain('not of this key');
  expect(await signatureProblem(run, signature.replace('"lines": 3', '"lines": 2'), open)).toContain(
    'altered',
  );
  expect(await signatureProblem(another, signature, open)).toContain('of the run "a"');
  // Lines that are committed later do no harm; lines that are gone, do.
  const ledger = await readFile(run.ledgerFile, 'utf8');
  await writeFile(run.ledgerFile, ledger.split('\n').slice(0, 2).join('\n') + '\n');
  expect(await signatureProblem(run, signature, open)).toContain('first 3 lines');
  const ofTwo = await signLedger(run, secret);
  await writeFile(run.ledgerFile, ledger);
  expect(await signatureProblem(run, ofTwo, open)).toBeUndefined();
});

test('what is no key, or no signature, is refused and not quoted', async () => {
  const { run } = await (await someStore()).someRun('a', 1);
  await expect(signLedger(run, 'KKKK')).rejects.toThrow(/^--sign: expected(?!.*KKKK)/);
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  await expect(signLedger(run, rsa.export({ type: 'pkcs8', format: 'pem' }).toString())).rejects.toThrow(
    '--sign',
  );
  await expect(signatureProblem(run, '{}', keys().open)).rejects.toThrow('--signature');
});
