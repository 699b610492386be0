import { expect, test } from 'vitest';
import { parseCommand } from '../../src/benchmarks/alfworld/conversation.ts';
import { extractAnswer } from '../../src/benchmarks/bamboogle/answer-rules.ts';
import { lastTaggedBlock } from '../../src/formats/tagged-blocks.ts';
import { randomStream } from '../../src/numerics/random.ts';

test('the last block is the one that a pattern with the nearest end finds', () => {
  const random = randomStream(5);
  const pieces = ['<a>', '</a>', '<A>', '</A>', 'x', '<', '/a>', '\n', '<b>'];
  for (let round = 0; round < 5_000; round++) {
    const text = Array.from({ length: random.int(14) }, () => pieces[random.int(pieces.length)]).join('');
    for (const flags of ['g', 'gi'] as const)
      expect(lastTaggedBlock(text, 'a', flags), text).toBe(
        [...text.matchAll(new RegExp('<a>([^]*?)</a>', flags))].at(-1)?.[1],
      );
  }
});

test.each([
  ['<answer>', extractAnswer],
  ['<response>', extractAnswer],
  ['<action>', parseCommand],
  ['Answer:', extractAnswer],
  ['</think>', extractAnswer],
  [' ', parseCommand],
  ['> action', parseCommand],
])('a run of %j is read in linear time', (piece, read) => {
  // A quadratic reader takes more than a minute for so many.
  read(piece.repeat(2_000_000 / piece.length));
  read(`x\n${piece.repeat(2_000_000 / piece.length)}\n`);
});
