import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../store/canonical-json.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { RunFolder } from './run-folder.ts';

const statementSchema = z.strictObject({
  type: z.literal('genenv ledger 1'),
  run: z.string(),
  /** Hash of the experiment file. */
  experiment: z.string(),
  /** Lines of the ledger, and the hash of the last of them. */
  lines: z.int().min(1),
  head: z.string(),
});
const signatureSchema = z.strictObject({ statement: statementSchema, signature: z.base64() });
type Statement = z.infer<typeof statementSchema>;

/**
 * A signature (Ed25519) of a run's ledger as it is, to be kept elsewhere: JSON of a statement and the base64
 * of the signature of its canonical JSON.
 * @param pem private key, PKCS #8
 * @throws InvalidConfig
 */
export async function signLedger(run: RunFolder, pem: string): Promise<string> {
  const { sha256, hashes } = await ledgerOf(run);
  const head = hashes.at(-1);
  if (head === undefined) throw new InvalidConfig(`${run.ledgerFile}: has no line that could be signed`);
  const statement: Statement = {
    type: 'genenv ledger 1',
    run: run.id,
    experiment: sha256,
    lines: hashes.length,
    head,
  };
  const key = readKey(() => createPrivateKey(pem), '--sign', 'private');
  const signature = sign(null, Buffer.from(canonicalJson(statement)), key).toString('base64');
  return `${JSON.stringify({ statement, signature }, null, 2)}\n`;
}

/**
 * What is wrong between a run and a signature; undefined if the ledger begins with the lines that were signed.
 * @param pem public key
 * @throws InvalidConfig
 */
export async function signatureProblem(
  run: RunFolder,
  text: string,
  pem: string,
): Promise<string | undefined> {
  const { statement, signature } = parseSignature(text);
  const key = readKey(() => createPublicKey(pem), '--public-key', 'public');
  if (!verify(null, Buffer.from(canonicalJson(statement)), key, Buffer.from(signature, 'base64')))
    return 'the signature is not of this key, or its statement was altered';
  const { sha256, hashes } = await ledgerOf(run);
  if (statement.run !== run.id)
    return `the signature is of the run ${JSON.stringify(statement.run.slice(0, 80))}`;
  if (statement.experiment !== sha256) return 'the experiment file is not the one that was signed';
  if (hashes[statement.lines - 1] !== statement.head)
    return `the first ${statement.lines} lines of the ledger are not those that were signed`;
  return undefined;
}

function parseSignature(text: string): z.infer<typeof signatureSchema> {
  try {
    return signatureSchema.parse(JSON.parse(text));
  } catch {
    throw new InvalidConfig('--signature: expected the JSON that `genenv verify RUN --sign KEY` writes');
  }
}

/** An error of the library may quote the key. */
function readKey(read: () => ReturnType<typeof createPublicKey>, flag: string, kind: string) {
  try {
    const key = read();
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below.
  }
  throw new InvalidConfig(
    `${flag}: expected an Ed25519 ${kind} key in PEM; \`openssl genpkey -algorithm ed25519\` makes a private one, ` +
      '`openssl pkey -pubout` its public one',
  );
}

async function ledgerOf(run: RunFolder): Promise<{ sha256: string; hashes: string[] }> {
  const opened = await run.open();
  if (opened === undefined) throw new InvalidConfig(`run: there is no run ${JSON.stringify(run.id)}`);
  return { sha256: opened.sha256, hashes: (await opened.ledger.inspect()).chain.hashes };
}
