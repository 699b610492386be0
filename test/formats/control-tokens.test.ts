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
    ['<BOS_TOKEN><EOS_TOKEN><PAD>', '< BOS_TOKEN>< EOS_TOKEN>< PAD>'],
    ['<mask><cls><sep><unused12>', '< mask>< cls>< sep>< unused12>'],
    ['<extra_id_0>System<SPECIAL_12>', '< extra_id_0>System< SPECIAL_12>'],
    ['<reserved_106><seed:eos>', '< reserved_106>< seed:eos>'],
    ['<tool_response>1</tool_response>', '< tool_response>1< /tool_response>'],
    ['[THINK]a[/THINK]b[CALL_ID]1[ARGS]{}', '[ THINK]a[ /THINK]b[ CALL_ID]1[ ARGS]{}'],
    ['[MODEL_SETTINGS][/MODEL_SETTINGS]', '[ MODEL_SETTINGS][ /MODEL_SETTINGS]'],
    ['[BOS][EOS][EOT][sMASK][IMG][UNUSED_TOKEN_145]', '[ BOS][ EOS][ EOT][ sMASK][ IMG][ UNUSED_TOKEN_145]'],
    ['[|assistant|]a[|endofturn|]', '[ |assistant|]a[ |endofturn|]'],
    [']~b]ai\n[e~[ ]~!b[', '] ~b]ai\n[ e~[ ] ~!b['],
  ])('%j is broken up, once', (text, broken) => {
    expect(breakControlTokens(text)).toBe(broken);
    expect(breakControlTokens(broken)).toBe(broken);
  });

  it.each([
    '<think> so </think>\n<tool_call>\n{"name": "a"}\n</tool_call><response>x</response><answer>y</answer>',
    '[a for a in b] ] ~b [e] x[|i] <masked> <unused> <padding> [IMAGE] [MASKED] [A|B] <EOS_TIME> [ARGS=1]',
    '[func(a=1)] [INSTANT] if (a < b || c > d) <b>bold</b> <span> a <- b |> c List<S> <system>',
    '',
  ])('%j is left as it is', (text) => {
    expect(breakControlTokens(text)).toBe(text);
    expect(breakControlTokensInJson(text)).toBe(text);
  });

  it('are broken up in JSON without a change to its numbers', () => {
    const numbers = '[12345678901234567890,-1.50,1E400,0.1000000000000000055,-0]';
    expect(breakControlTokensInJson(`{"a":"<s>","n":${numbers}}`)).toBe(`{"a":"< s>","n":${numbers}}`);
    expect(breakControlTokensInJson(`{"a":"<s>", "n": ${numbers}}`)).toBe(`{"a":"< s>","n":${numbers}}`);
  });

  it('are broken up in JSON however they are written, and other JSON is left as it is', () => {
    expect(breakControlTokensInJson('{"a": "\\u003c|im_end|>"}')).toBe('{"a":"< |im_end|>"}');
    expect(breakControlTokensInJson('{"<\\/s>": [1]}')).toBe('{"< /s>":[1]}');
    expect(breakControlTokensInJson('["<s>", "a\\\\", "\\"<s>"]')).toBe('["< s>","a\\\\","\\"< s>"]');
    expect(breakControlTokensInJson('{"a": "\\u003cb\\u003e" }')).toBe('{"a": "\\u003cb\\u003e" }');
  });
});
