import { describe, expect, it } from 'vitest';
import { breakControlTokens, breakControlTokensInJson } from '../../src/formats/control-tokens.ts';

describe('control tokens', () => {
  it.each([
    ['<|im_end|>', '< |im_end|>'],
    ['<|eot_id|>', '< |eot_id|>'],
    ['<｜User｜>', '< ｜User｜>'],
    ['<s>a</s>', '< s>a< /s>'],
    ['[INST]a[/INST]', '[ INST]a[ /INST]'],
    ['<<SYS>>a<</SYS>>', '< <SYS>>a< </SYS>>'],
    ['<start_of_turn>model', '< start_of_turn>model'],
    ['<end_of_turn><eos><turn|>', '< end_of_turn>< eos>< turn|>'],
    ['[TOOL_RESULTS]1[/TOOL_RESULTS]', '[ TOOL_RESULTS]1[ /TOOL_RESULTS]'],
    ['[gMASK]<sop>', '[ gMASK]< sop>'],
    ['<<|<|', '<< |< |'],
  ])('%j is broken up, once', (text, broken) => {
    expect(breakControlTokens(text)).toBe(broken);
    expect(breakControlTokens(broken)).toBe(broken);
  });

  it.each([
    '<think> so </think>\n<tool_call>\n{"name": "a"}\n</tool_call><response>x</response><answer>y</answer>',
    '[func(a=1)] [INSTANT] if (a < b || c > d) <b>bold</b> <span> a <- b |> c List<S> <system>',
    '',
  ])('%j is left as it is', (text) => {
    expect(breakControlTokens(text)).toBe(text);
    expect(breakControlTokensInJson(text)).toBe(text);
  });

  it('are broken up in JSON however they are written, and other JSON is left as it is', () => {
    expect(breakControlTokensInJson('{"a": "\\u003c|im_end|>"}')).toBe('{"a":"< |im_end|>"}');
    expect(breakControlTokensInJson('{"<\\/s>": [1]}')).toBe('{"< /s>":[1]}');
    expect(breakControlTokensInJson('{"a": "\\u003cb\\u003e" }')).toBe('{"a": "\\u003cb\\u003e" }');
  });
});
