/** Control tokens of chat templates in texts of models, servers and files. */

/**
 * What follows the `<` of a control token. Left out are `<think>`, `<tool_call>` and other tags of our own
 * formats and of benchmarks (`toolrl.ts`), though Qwen's tokenizer has tokens for some: prompts need them, and
 * none of them ends a message.
 */
const afterAngle = [
  // ChatML, Llama 3 and 4, Phi, Granite, Command R; DeepSeek.
  String.raw`[|｜]`,
  // Llama 2 and Mistral.
  String.raw`\/?s>|<\/?SYS>>`,
  // Gemma.
  String.raw`\w{1,20}\|>|(?:start|end)_of_(?:turn|image)>|unused\d{1,4}>`,
  // Gemma, GLM; Command R.
  String.raw`(?:bos|eos|pad|unk|sop|eop|mask|cls|sep)>|(?:BOS|EOS|PAD|UNK|EOP|MASK|CLS|SEP)(?:_TOKEN)?>`,
  // Nemotron, Baichuan, Seed.
  String.raw`(?:extra_id|SPECIAL|reserved)_\d{1,4}>|seed:\w{1,20}>`,
  // Qwen and Hermes: the end of what a tool has answered.
  String.raw`\/?tool_response>`,
].join('|');

/** What follows the `[` of one. */
const afterBracket = [
  // Llama 2 and Mistral.
  String.raw`\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|TOOL_CONTENT|MODEL_SETTINGS|THINK)\]`,
  String.raw`(?:ARGS|CALL_ID|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO)\]`,
  // GLM, Kimi, InternLM.
  String.raw`(?:[gs]?MASK|BOS|EOS|EOT|PAD|UNK|UNUSED_TOKEN_\d{1,4})\]`,
  // EXAONE, MiniMax.
  String.raw`\|\w{1,20}\|\]|e~\[`,
].join('|');

/**
 * Where a control token begins that a chat template in wide use gives meaning. A tokenizer makes a control token
 * of such a text wherever it stands in a prompt. MiniMax's are `]~b]` and `]~!b[`.
 */
const controlTokenStart = new RegExp(
  String.raw`<(?=${afterAngle})|\[(?=${afterBracket})|\](?=~!?b[\][])`,
  'g',
);

/**
 * A text in which no control token is left: each has a space after its first character, as in `< |im_end|>`. A
 * text without control tokens stays what it is.
 */
export const breakControlTokens = (text: string): string => text.replace(controlTokenStart, '$& ');

/**
 * The same for JSON, in which a control token can also be written with escapes, which a chat template
 * undoes. A text that is not JSON stays what it is, and so does every number.
 */
export function breakControlTokensInJson(text: string): string {
  if (!isJson(text)) return text;
  const plain = text.replace(stringOrSpace, (part) =>
    part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : '',
  );
  const broken = breakControlTokens(plain);
  return broken === plain ? text : broken;
}

/** A string in JSON, or what is between values. */
const stringOrSpace = /"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
