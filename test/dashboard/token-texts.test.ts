import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TokenTexts } from '../../src/dashboard/token-texts.ts';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'genenv-tokens-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function read(tokenizer: unknown): Promise<TokenTexts | null> {
  const folder = join(root, String(Math.random()));
  await mkdir(folder);
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  return TokenTexts.read(folder);
}
const textsOf = (texts: TokenTexts | null, token_ids: number[]): string[] =>
  texts!.tokensOf({ token_ids, logprobs: token_ids.map(() => -1) }).map(({ text }) => text);

test('tokens of a vocabulary of words are their texts, with the special ones', async () => {
  const texts = await read({
    added_tokens: [{ id: 2, content: '<eos>' }],
    model: { vocab: { '(': 3, a: 25, '<eos>': 2 } },
    decoder: { type: 'Fuse' },
  });
  expect(textsOf(texts, [3, 25, 2])).toEqual(['(', 'a', '<eos>']);
  expect(textsOf(texts, [99])).toEqual(['\uFFFD']);
});

test('tokens of a byte-level vocabulary are decoded, a character of several tokens with its last', async () => {
  const texts = await read({
    model: { vocab: { Ġthe: 0, Ã: 1, '¼': 2, Ċ: 3 } },
    decoder: { type: 'ByteLevel' },
  });
  expect(textsOf(texts, [0, 1, 2, 3])).toEqual([' the', '', 'ü', '\n']);
});

test('tokens of a SentencePiece vocabulary have spaces', async () => {
  const texts = await read({
    model: {
      vocab: [
        ['<unk>', 0],
        ['▁the', -1.5],
      ],
    },
    decoder: { type: 'Metaspace' },
  });
  expect(textsOf(texts, [1])).toEqual([' the']);
});

test('each token has its log-probability, and those that the agent read are marked', async () => {
  const texts = await read({ model: { vocab: { a: 0, b: 1 } } });
  expect(texts!.tokensOf({ token_ids: [0, 1], logprobs: [-0.5, 0], mask: [1, 0] })).toEqual([
    { text: 'a', logprob: -0.5, isSampled: true },
    { text: 'b', logprob: 0, isSampled: false },
  ]);
});

test('there are none without a tokenizer, and with one of another form', async () => {
  expect(await TokenTexts.read(join(root, 'nowhere'))).toBeNull();
  expect(await read({ model: { vocab: 'all of them' } })).toBeNull();
});
