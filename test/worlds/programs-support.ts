import { literalPhrases, openings } from '../../src/worlds/programs/request.ts';
import { allTools } from '../../src/worlds/programs/tools.ts';
import type { Tool } from '../../src/worlds/programs/tools.ts';
import { isAssignable, names } from '../../src/worlds/programs/values.ts';
import type { ValueType } from '../../src/worlds/programs/values.ts';

/** Where a phrase can end, and the programs, printed, that it can mean up to there. */
type Readings = Map<number, Set<string>>;

const months = Array.from({ length: 12 }, (_, month) =>
  new Date(Date.UTC(2000, month, 1)).toLocaleString('en-GB', { month: 'long', timeZone: 'UTC' }),
);

/**
 * All ways to read a request back, as programs in their printed form: a chart parser over every phrase of
 * every tool, which knows nothing of how one is chosen.
 */
export function readRequest(text: string): string[] {
  const memo = new Map<string, Readings>();
  const add = (readings: Readings, end: number, program: string): void => {
    readings.set(end, (readings.get(end) ?? new Set()).add(program));
  };

  function readValue(at: number, type: ValueType): Readings {
    const key = `${type}@${at}`;
    const earlier = memo.get(key);
    if (earlier !== undefined) return earlier;
    const readings: Readings = new Map();
    memo.set(key, readings);
    for (const { end, printed } of readLiterals(text, at, type)) add(readings, end, printed);
    for (const tool of allTools.filter(({ result }) => isAssignable(result, type)))
      for (const [end, programs] of readCall(at, tool))
        for (const program of programs) add(readings, end, program);
    return readings;
  }

  function readCall(at: number, tool: Tool): Readings {
    const readings: Readings = new Map();
    const parameters = Object.keys(tool.parameters);
    for (const phrase of tool.phrases)
      for (const { end, holes } of fillHoles(at, phrase, (name) => tool.parameters[name]!))
        add(readings, end, `${tool.name}(${parameters.map((name) => holes[name]).join(', ')})`);
    return readings;
  }

  function fillHoles(at: number, template: string, typeOf: (hole: string) => ValueType) {
    let states: { end: number; holes: Record<string, string> }[] = [{ end: at, holes: {} }];
    for (const [, hole, words = ''] of template.matchAll(/\{(\w+)\}|([^{]+)/g)) {
      states = states.flatMap(({ end, holes }) => {
        if (hole === undefined)
          return text.startsWith(words, end) ? [{ end: end + words.length, holes }] : [];
        return [...readValue(end, typeOf(hole))].flatMap(([next, programs]) =>
          [...programs].map((program) => ({ end: next, holes: { ...holes, [hole]: program } })),
        );
      });
    }
    return states;
  }

  const anyType: readonly ValueType[] = ['number', 'text', 'date', 'list', 'person', 'item'];
  const lines = new Set<string>();
  for (const [opening, further] of openings) {
    let states = [{ end: 0, programs: [] as string[] }];
    for (let sentence = opening as string; states.length > 0; sentence = ` ${further}`) {
      states = states.flatMap(({ end, programs }) =>
        anyType.flatMap((type) =>
          fillHoles(end, sentence.replace('{}', '{it}'), () => type).map(({ end: next, holes }) => ({
            end: next,
            programs: [...programs, holes.it!],
          })),
        ),
      );
      for (const { end, programs } of states) if (end === text.length) lines.add(programs.join('; '));
    }
  }
  return [...lines];
}

function readLiterals(text: string, at: number, type: ValueType): { end: number; printed: string }[] {
  const match = (pattern: RegExp): RegExpExecArray | null => new RegExp(pattern, 'y').exec(text.slice(at));
  const [digits = ''] = match(/\d+(?!\d)/) ?? [];
  if (type === 'number') return digits === '' ? [] : [{ end: at + digits.length, printed: digits }];
  if (type === 'text') {
    const [quoted] = match(/"[A-Za-z]+"/) ?? [];
    return quoted === undefined ? [] : [{ end: at + quoted.length, printed: quoted }];
  }
  if (type === 'person' || type === 'item')
    return [...names[type].usual, ...names[type].reserved].flatMap((name) =>
      literalPhrases(name, type)
        .filter((phrase) => text.startsWith(phrase, at))
        .map((phrase) => ({ end: at + phrase.length, printed: `"${name}"` })),
    );
  if (type === 'date') {
    const [iso] = match(/\d{4}-\d\d-\d\d/) ?? [];
    if (iso !== undefined) return [{ end: at + iso.length, printed: `"${iso}"` }];
    const [words, day = '', month = '', year = ''] = match(/(\d+) ([A-Z]\w+) (\d{4})/) ?? [];
    if (words === undefined || !months.includes(month)) return [];
    const number = String(months.indexOf(month) + 1).padStart(2, '0');
    return [{ end: at + words.length, printed: `"${year}-${number}-${day.padStart(2, '0')}"` }];
  }
  return [2, 3, 4, 5].flatMap((items) => {
    const list = `\\d+(?:, \\d+){${items - 1}}`;
    const [words] = match(new RegExp(`${list}(?!\\d)|\\[${list}\\]`)) ?? [];
    return words === undefined
      ? []
      : [{ end: at + words.length, printed: `[${words.replace(/[[\]]/g, '')}]` }];
  });
}
