import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findPlan } from '../../src/benchmarks/travelplanner/case-verdict.ts';
import { beforeParenthesis, fromTo, nameAndCity } from '../../src/benchmarks/travelplanner/data/plan.ts';
import { canonicalJson } from '../../src/store/canonical-json.ts';
import { read } from '../infra/repository.ts';
import { contentOf, goldPlan, openTravel, scripted, train } from './travelplanner-support.ts';
import { cpuSeconds } from '../../test-support/cpu-seconds.ts';

const suite = await openTravel('soleplanning');
const judged = async (answer: string) =>
  (
    await suite.judge(
      [{ item: suite.cases[0]!, response: { answer, steps: 0, end: 'stop' } }],
      new AbortController().signal,
    )
  )[0]!;
const days = goldPlan(1).slice(0, 3);

describe('the plan of an answer', () => {
  it('is found in a fence, after thoughts, inside an object and as a Python literal', () => {
    const json = JSON.stringify(days, null, 2);
    const python = `[${days
      .map(
        (day) =>
          `{${Object.entries(day)
            .map(
              ([key, value]) =>
                `'${key}': ${typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value)}`,
            )
            .join(', ')}}`,
      )
      .join(', ')}, ]`;
    for (const text of [
      json,
      `\`\`\`json\n${json}\n\`\`\``,
      `<think>first [{"days": 1}], or [ {not json} ]</think>${json} Enjoy [sic]!`,
      `{"plan": ${json}}`,
      python,
    ])
      expect(findPlan(text)).toEqual(days);
  });

  it('is the last of several', () => {
    expect(findPlan('[{"days": 1}] no: [{"days": 2}]')).toEqual([{ days: 2 }]);
  });

  it.each([
    '',
    'Day 1: stay at home',
    '[{"days": 1',
    '[1, 2]',
    '[]',
    '[{"days": NaN}]',
    '[{"days": __import__("os").getpid()}]',
    '[{days: 1}]',
    '{"days": 1}',
    '[[{"a": 1}, 2]',
  ])('is not in %j', (text) => {
    const plan = findPlan(text);
    expect(plan === null || plan.every((day) => Object.keys(day).length <= 1)).toBe(true);
    if (!text.startsWith('[[')) expect(plan).toBeNull();
  });
});

describe('the longest prompts', () => {
  it('are as long as is said of them', async () => {
    const prompts = await Promise.all(
      suite.cases.map(async (item) => {
        const policy = scripted(['']);
        await suite.attempt(item, policy);
        return contentOf(policy.questions[0]!);
      }),
    );
    const longest = (texts: readonly string[]): string =>
      Math.max(...texts.map(({ length }) => length)).toLocaleString('en');
    expect(read('docs/benchmarks.md')).toContain(`(up to ${longest(prompts)} characters in the train split)`);
    expect(read('src/benchmarks/travelplanner/README.md').replace(/\s+/g, ' ')).toContain(
      `The longest has ${longest(suite.cases.map((item) => train.reference(item)))} characters, and its prompt ${longest(prompts)}.`,
    );
  });
});

describe('hostile answers', () => {
  it.each<[string, string]>([
    ['nested brackets', '['.repeat(200_000)],
    ['nested lists of objects', '[{"a":'.repeat(50_000)],
    ['a nested value in a plan', `[{"days": ${'['.repeat(20)}${']'.repeat(20)}}]`],
    ['open quotes', '[{"'.repeat(60_000)],
    ['spaces', `[${' '.repeat(190_000)}`],
    ['brackets and spaces', '[ '.repeat(90_000)],
    [
      'a field of many commas',
      JSON.stringify([{ ...days[0], dinner: ','.repeat(150_000) }, days[1], days[2]]),
    ],
    [
      'a field of many brackets',
      JSON.stringify([{ ...days[0], dinner: `${'('.repeat(100_000)}, x` }, days[1], days[2]]),
    ],
    [
      'a route of many words',
      JSON.stringify([{ ...days[0], current_city: 'from '.repeat(30_000) }, days[1], days[2]]),
    ],
    [
      'a route at the limit',
      JSON.stringify([{ ...days[0], transportation: `from${' '.repeat(490)}` }, days[1], days[2]]),
    ],
    [
      'many attractions',
      JSON.stringify([
        { ...days[0], attraction: 'Sinnissippi Park, Rockford;'.repeat(7000) },
        days[1],
        days[2],
      ]),
    ],
    ['many days', JSON.stringify(Array.from({ length: 20_000 }, () => ({})))],
    ['keys of prototypes', '[{"__proto__": {"current_city": "Rockford"}, "constructor": 1, "toString": 2}]'],
    ['fields inherited from nothing', '[{"hasOwnProperty": 1, "days": 1}]'],
    [
      'half a surrogate pair',
      '[{"days": 1, "current_city": "from St. Petersburg to \\ud800", "transportation": "Taxi \\ud800", "dinner": "\\udfff, \\ud800;"}]',
    ],
    [
      'half a pair in what is said of it',
      JSON.stringify([
        { ...days[0], lunch: '\ud800, Rockford', dinner: '\ud800, Rockford' },
        days[1],
        days[2],
      ]),
    ],
    ['not a number', '[{"days": NaN, "current_city": Infinity}]'],
    ['a number beyond numbers', '[{"days": 1e999, "current_city": -1e999}]'],
    ['null days', '[null, null]'],
  ])('%s: a verdict, soon, that can be kept', async (_, answer) => {
    const seconds = await cpuSeconds(async () => {
      const verdict = await judged(answer);
      expect(verdict.correct).toBe(false);
      expect(verdict.reason).not.toBeNull();
      expect(canonicalJson(verdict).length).toBeLessThan(10_000);
    });
    expect(seconds).toBeLessThan(2);
  });

  it('never stop the judge, whatever the fields', async () => {
    const value = fc.oneof(
      fc.string(),
      fc.constant(null),
      fc.constant('-'),
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(...days.flatMap((day) => Object.values(day))),
    );
    const day = fc.record(
      {
        days: value,
        current_city: value,
        transportation: value,
        breakfast: value,
        attraction: value,
        lunch: value,
        dinner: value,
        accommodation: value,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(day, { maxLength: 4 }), async (plan) => {
        expect(typeof (await judged(JSON.stringify(plan))).correct).toBe('boolean');
      }),
      { numRuns: 500 },
    );
  });
});

/** The official regular expressions, on texts short enough for them. */
describe('names are taken apart as officially', () => {
  const text = fc
    .array(fc.constantFrom('from', ' to ', ' ', ',', '(', ')', 'a', 'B', '\n', ', ', 'Rockford', '(Texas)'), {
      maxLength: 8,
    })
    .map((parts) => parts.join(''));
  const parenthesis = (s: string): string => /^([^\n]*?)\([^)]*\)/u.exec(s)?.[1] ?? s;

  it('name and city', () => {
    fc.assert(
      fc.property(text, (info) => {
        const match = /([^\n]*?),\s*([^,]+)(\(\w[\w\s]*\))?$/u.exec(info);
        expect(nameAndCity(info)).toEqual(
          match
            ? { name: match[1]!.trim(), city: parenthesis(match[2]!.trim()).trim() }
            : { name: '-', city: '-' },
        );
      }),
      { numRuns: 3000 },
    );
  });

  it('what is before brackets', () => {
    fc.assert(
      fc.property(text, (s) => {
        expect(beforeParenthesis(s)).toBe(parenthesis(s));
      }),
      { numRuns: 3000 },
    );
  });

  it('from where to where', () => {
    fc.assert(
      fc.property(text, (s) => {
        expect(fromTo(s)?.slice() ?? null).toEqual(
          /from\s+([^\n]+?)\s+to\s+([^,]+)(?=[,\s]|$)/u.exec(s)?.slice(1) ?? null,
        );
      }),
      { numRuns: 3000 },
    );
    expect(fromTo('Flight Number: F1, from St. Petersburg to Rockford, Departure Time: 15:40')).toEqual([
      'St. Petersburg',
      'Rockford',
    ]);
  });
});
