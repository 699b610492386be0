import { describe, expect, test } from 'vitest';
import { bfclCategories } from '../../src/benchmarks/bfcl/categories.ts';
import type { CategoryName } from '../../src/benchmarks/bfcl/categories.ts';
import { judged, open, openOrMissing, text } from './bfcl-open.ts';
import { permitLoopback } from '../../test-support/permitted-servers.ts';

/**
 * No output can pass these: a required list whose accepted values are empty, an answer that the function has
 * no parameter for.
 */
const impossible: Partial<Record<CategoryName, string[]>> = {
  live_simple: ['live_simple_106-63-0', 'live_simple_112-68-0'],
  live_multiple: ['live_multiple_862-181-3', 'live_multiple_964-207-0'],
};

const names = Object.keys(bfclCategories) as CategoryName[];
const offline = names.filter((name) => bfclCategories[name].kind !== 'agentic');
const python = offline.filter((name) => !name.includes('java'));

describe.each(['prompt', 'native'] as const)('gold answers, %s', (toolFormat) => {
  // Native multi-turn calls take another way than texts, but the same one in all four categories.
  test.each(
    python.filter(
      (name) =>
        toolFormat === 'prompt' || bfclCategories[name].kind !== 'multi_turn' || name === 'multi_turn_base',
    ),
  )(
    '%s',
    async (name) => {
      const suite = await open(name, toolFormat);
      try {
        const verdicts = await judged(suite, ({ gold }) => gold);
        expect(verdicts.size).toBe(bfclCategories[name].cases);
        expect([...verdicts].filter(([, { correct }]) => !correct).map(([id]) => id)).toEqual(
          impossible[name] ?? [],
        );
        const [score] = suite.scores([...verdicts].map(([id, verdict]) => ({ id, verdict })));
        expect(score).toMatchObject({
          successes: bfclCategories[name].cases - (impossible[name]?.length ?? 0),
          of: bfclCategories[name].cases, // eslint-disable-line id-denylist -- its name on disk
        });
        expect(score).not.toHaveProperty('note');
      } finally {
        await suite.close();
      }
    },
    60_000,
  );
});

test.each(['simple_java', 'simple_javascript'] as const)(
  '%s parses answers in its language, or says what it lacks',
  async (name) => {
    const suite = await openOrMissing(name);
    if ('missing' in suite) {
      expect(suite.missing).toMatch(/tree-sitter 0\.21\.3/);
      return;
    }
    const verdicts = await judged(suite, ({ gold }) => gold);
    // How we write values in Java is not the only way, so this is a floor.
    expect([...verdicts.values()].filter(({ correct }) => correct).length).toBeGreaterThanOrEqual(
      0.85 * bfclCategories[name].cases,
    );
    const wrong = await judged(suite, () => [[text('[no.such(a=1)]')]]);
    expect(
      [...wrong.values()].every(
        ({ correct, reason }) => !correct && reason === 'simple_function_checker:wrong_func_name',
      ),
    ).toBe(true);
    await suite.close();
  },
);

describe('relevance and irrelevance', () => {
  test.each([
    ['irrelevance', 'No function fits.', true, null],
    ['irrelevance', '[]', true, null],
    ['irrelevance', '[f(a=1)]', false, 'irrelevance_error:decoder_success'],
    [
      'irrelevance',
      '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
      false,
      'irrelevance_error:decoder_success',
    ],
    ['live_relevance', 'No function fits.', false, 'relevance_error:decoder_failed'],
    ['live_relevance', '[f(a=1)]', true, null],
  ] as const)('%s, answered %s', async (name, answer, correct, reason) => {
    const suite = await open(name);
    const [verdict] = (
      await judged(suite, (item) => (item === suite.cases[0] ? [[text(answer)]] : undefined))
    ).values();
    expect(verdict).toMatchObject({ correct, reason, scores: { detection: correct ? 1 : 0 } });
    await suite.close();
  });
});

test('the agentic categories say what they need', async () => {
  for (const name of names.filter((candidate) => bfclCategories[candidate].kind === 'agentic')) {
    expect(await openOrMissing(name)).toEqual({
      missing: expect.stringMatching(/SerpAPI|memory|embedding/) as string,
    });
  }
});

test('without the engine every suite says which command installs it', async () => {
  const { bfcl } = await import('../../src/benchmarks/bfcl/bfcl.ts');
  const suite = bfcl.suites.find(({ name }) => name === 'bfcl_v4_simple_python')!;
  const opened = await suite.open(
    { shipped: '', downloads: '', enginePython: () => Promise.resolve(null), permitServer: permitLoopback },
    { toolFormat: 'prompt', search: null },
  );
  expect(opened).toEqual({ missing: expect.stringContaining('npm run engines -- bfcl') as string });
});
