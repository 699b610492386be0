import fc from 'fast-check';
import { expect, it } from 'vitest';
import { plainWords } from '../../src/worlds/json-tasks/plain-words.ts';

it('gives words without what surrounds their letters and digits', () => {
  expect(plainWords(' Is it (Oslo), or "New-York"? ... 7% a')).toEqual([
    'Is',
    'it',
    'Oslo',
    'or',
    'New-York',
    '7',
    'a',
  ]);
});

it('equals to cut both ends of each word', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab1_ \n(.,)ü') }), (text) => {
      const cut = text.split(/\s+/).map((word) => word.replace(/^\W+/, '').replace(/\W+$/, ''));
      expect(plainWords(text)).toEqual(cut.filter((word) => word !== ''));
    }),
  );
});

it('takes linear time', () => {
  expect(plainWords(`a${'('.repeat(200_000)}ü`)).toEqual(['a']);
});
