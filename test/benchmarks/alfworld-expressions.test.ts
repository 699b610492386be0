import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pythonPath, repository } from '../../infra/setup/locations.mjs';

/** Values by the sidecar's rules, of entities `o` and `r`; `refused` for what has none. */
function evaluate(expressions: readonly string[]): string[] {
  const script = `
import json, sys
from types import SimpleNamespace
from expressions import evaluate
entities = {name: SimpleNamespace(name=f"{name} 1", indefinite="a", id="") for name in ("o", "o2", "r", "outero", "outerr", "co", "ko")}
def value(expression):
    try:
        return evaluate(expression, entities)
    except ValueError as error:
        return f"refused: {error}"
print(json.dumps([str(value(expression)) for expression in json.load(sys.stdin)]))
`;
  return JSON.parse(
    execFileSync(pythonPath(), ['-c', script], {
      cwd: join(repository, 'src/benchmarks/alfworld/sidecar'),
      input: JSON.stringify(expressions),
      encoding: 'utf8',
    }),
  ) as string[];
}

/** Every expression of the grammars of the shipped games, which are those of the official ones. */
function grammarExpressions(): string[] {
  const folder = join(repository, 'data/alfworld');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('game.tw-pddl'),
  );
  const expressions = new Set<string>();
  for (const file of files) {
    const { grammar } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { grammar: string };
    for (const [, text] of grammar.matchAll(/\{([^{}"#]+?)(?:\|[^{}]*)?\}/g)) expressions.add(text!.trim());
  }
  return [...expressions].filter((text) => text !== '');
}

test('expressions of games have the values that Python gives them', () => {
  const expressions = grammarExpressions();
  expect(expressions).toContain("o.indefinite + ' ' + o.name");
  expect(expressions).toContain('r.name or r.id');
  const values = evaluate(expressions);
  for (const [index, value] of values.entries()) expect(value, expressions[index]).not.toMatch(/^refused/);
  expect(
    evaluate(["o.indefinite + ' ' + o.name", 'r.name or r.id', 'r.id or r.name', 'r.id and r.name']),
  ).toEqual(['a o 1', 'r 1', 'r 1', '']);
});

test('nothing else is evaluated', () => {
  const reached = join(tmpdir(), `genenv-alfworld-${process.pid}`);
  const hostile = [
    `open(${JSON.stringify(reached)}, "w")`,
    `__import__("os").system("touch ${reached}")`,
    'o.__class__.__mro__',
    'o.name.__len__',
    '(lambda: 1)()',
    '[x for x in o.name]',
    "'a' * 10 ** 9",
    "f'{o.__class__}'",
    'o.name if o else r',
    'evaluate',
    '__builtins__',
    'o.name + 1',
    '1',
    `'${'a'.repeat(600)}'`,
    'o.name;',
    '(o := r)',
  ];
  for (const [index, value] of evaluate(hostile).entries()) expect(value, hostile[index]).toMatch(/^refused/);
  expect(existsSync(reached)).toBe(false);
});
