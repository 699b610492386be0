/** Control tokens of chat templates in texts of models, servers and files. */

/**
 * Where a control token begins that a chat template in wide use gives meaning: ChatML, Llama 3 and 4, Phi,
 * Granite and Command R (`<|...`), DeepSeek (`<｜...`), Gemma (`<start_of_turn>`, `<turn|>`), Llama 2 (`<<SYS>>`),
 * Llama 2 and Mistral (`<s>`, `</s>`, `[INST]`, `[TOOL_RESULTS]`), GLM (`[gMASK]`, `<sop>`). A tokenizer makes a
 * control token of such a text wherever it stands in a prompt.
 */
const controlTokenStart =
  /<(?=[|｜]|\/?s>|<\/?SYS>>|\w{1,20}\|>|(?:start|end)_of_(?:turn|image)>|(?:bos|eos|pad|unk|sop|eop)>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|TOOL_CONTENT|gMASK)\])/g;

/**
 * A text in which no control token is left: each has a space after its first character, as in `< |im_end|>`. A
 * text without control tokens stays what it is.
 */
export const breakControlTokens = (text: string): string => text.replace(controlTokenStart, '$& ');

/**
 * The same for JSON, in which a control token can also be written with escapes, which a chat template
 * undoes. A text that is not JSON stays what it is.
 */
export function breakControlTokensInJson(text: string): string {
  let canonical: string;
  try {
    canonical = JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
  const broken = breakControlTokens(canonical);
  return broken === canonical ? text : broken;
}
