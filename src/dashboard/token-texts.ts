import { join } from 'node:path';
import { z } from 'zod';
import { modelFolder } from '../config/model-folder.ts';
import type { ViewedRun } from '../report/run-view.ts';
import { fileStamp } from '../store/file-stamp.ts';
import { readJsonFile } from '../store/json-files.ts';
import type { Sampled } from '../types/records.ts';
import type { RolloutToken } from './api.ts';
import { StampedCache } from './stamped-cache.ts';

const idsSchema = z.record(z.string(), z.number());
const piecesSchema = z.array(z.tuple([z.string(), z.number()]).rest(z.unknown()));
/** What is read of a `tokenizer.json` of Hugging Face's tokenizers. */
const tokenizerSchema = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: z.number(), content: z.string() })).optional(),
  model: z.looseObject({ vocab: z.union([idsSchema, piecesSchema]) }),
  decoder: z.unknown().optional(),
});

/** Texts of tokens by a tokenizer's file, to show an answer token by token. */
export class TokenTexts {
  readonly #texts: ReadonlyMap<number, string>;
  readonly #isByteLevel: boolean;

  private constructor(texts: ReadonlyMap<number, string>, isByteLevel: boolean) {
    this.#texts = texts;
    this.#isByteLevel = isByteLevel;
  }

  /** Reads `tokenizer.json` of a model's folder; null if there is none that can be read. */
  static async read(folder: string): Promise<TokenTexts | null> {
    const file = await readJsonFile<z.infer<typeof tokenizerSchema>>(
      join(folder, 'tokenizer.json'),
      'Tokens are shown without it.',
      tokenizerSchema,
    ).catch(() => undefined);
    if (file === undefined) return null;
    const { vocab } = file.model;
    const texts = new Map<number, string>();
    if (Array.isArray(vocab)) for (const [id, [text]] of vocab.entries()) texts.set(id, text);
    else for (const [text, id] of Object.entries(vocab)) texts.set(id, text);
    for (const { id, content } of file.added_tokens ?? []) texts.set(id, content);
    return new TokenTexts(texts, JSON.stringify(file.decoder ?? null).includes('ByteLevel'));
  }

  /** The tokens of an answer. Bytes of a character that several tokens share are shown with its last. */
  tokensOf({ token_ids, logprobs, mask }: Pick<Sampled, 'token_ids' | 'logprobs' | 'mask'>): RolloutToken[] {
    const texts = this.#isByteLevel
      ? byteTexts(token_ids.map((id) => this.#texts.get(id) ?? '\uFFFD'))
      : token_ids.map((id) => (this.#texts.get(id) ?? '\uFFFD').replaceAll('\u2581', ' '));
    return token_ids.map((_, index) => ({
      text: texts[index] ?? '',
      logprob: logprobs[index] ?? 0,
      isSampled: mask?.[index] !== 0,
    }));
  }
}

/** Tokenizers of the runs that were shown last: a large one takes half a second to read. */
export class Tokenizers {
  readonly #texts = new StampedCache<TokenTexts | null>(2);

  /** By the tokenizer that a run's agent began with; null if this disk has it no more. */
  async ofAgent({ run, store }: ViewedRun): Promise<TokenTexts | null> {
    const model = run.experiment?.agent.model;
    const checkpoint = run.rows.at(-1)?.outputs.state?.initial_agent?.checkpoint;
    const folders = [
      ...(checkpoint ? [store.path(checkpoint)] : []),
      ...(model?.type === 'pretrained' ? [modelFolder(model.path)] : []),
    ];
    for (const folder of folders) {
      const stamp = await fileStamp([join(folder, 'tokenizer.json')]);
      const texts = await this.#texts.get(folder, stamp, () => TokenTexts.read(folder));
      if (texts !== null) return texts;
    }
    return null;
  }
}

/** Decodes tokens of a byte-level vocabulary, in which each byte is a printable character. */
function byteTexts(tokens: readonly string[]): string[] {
  const decoder = new TextDecoder('utf-8');
  return tokens.map((token) => {
    const bytes = Array.from(token, (character) => byteOf.get(character));
    if (bytes.some((byte) => byte === undefined)) return token;
    return decoder.decode(Uint8Array.from(bytes as number[]), { stream: true });
  });
}

/** GPT-2's table: printable bytes are themselves, and the others follow from U+0100 on. */
const byteOf = new Map<string, number>();
let unprintable = 0;
for (let byte = 0; byte < 256; byte++) {
  const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  byteOf.set(String.fromCharCode(isPrintable ? byte : 256 + unprintable++), byte);
}
