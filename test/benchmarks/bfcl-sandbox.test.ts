import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RecordedAnswer } from '../../src/benchmarks/bfcl/engine.ts';
import { enginePython } from '../../src/benchmarks/registry.ts';
import { call, judged, open, scripted, text } from './bfcl-open.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'genenv-bfcl-test-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('code that runs in a throw-away process all the same gets nowhere, and takes no longer than it may', async () => {
  writeFileSync(join(folder, 'secret'), 'secret');
  const check = fileURLToPath(new URL('bfcl_sidecar_check.py', import.meta.url));
  const output = execFileSync((await enginePython('bfcl'))!, ['-X', 'utf8', '-s', check, 'sandbox', folder], {
    encoding: 'utf8',
    env: { GENENV_TEST_SECRET: 'secret' },
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  const { outcomes, files } = JSON.parse(output) as {
    outcomes: Record<string, [result: unknown, error: string | null]>;
    files: string[];
  };
  expect(files).toEqual(['empty', 'secret']);
  const { harmless, environment, 'open files': openFiles, ...attempts } = outcomes;
  expect([harmless, environment, openFiles]).toEqual([
    [2, null],
    [null, null],
    [null, null],
  ]);
  const errors = Object.fromEntries(
    Object.entries(attempts).map(([name, [result, error]]) => [
      name,
      result === null ? error : `it gave ${JSON.stringify(result)}`,
    ]),
  );
  const refused = expect.stringMatching(
    /Permission|not permitted|refused|not allowed|can't start new thread/i,
  ) as string;
  expect(errors).toEqual({
    'read a file': refused,
    'write a file': refused,
    'list a folder': refused,
    import: expect.stringMatching(/ModuleNotFoundError|Permission/) as string,
    network: refused,
    'start a program': refused,
    'start a process': refused,
    fork: refused,
    'fork bomb': refused,
    thread: refused,
    'signal the parent': refused,
    'trace the parent': refused,
    'memory of the parent': refused,
    'huge text': 'MemoryError: ',
    'huge number': expect.stringMatching(/MemoryError|OverflowError/) as string,
    'endless loop': expect.stringMatching(/more than (1 s of CPU time|5 s)/) as string,
    'endless wait': 'more than 5 s',
    'huge result': expect.stringContaining('a result of more than') as string,
    crash: 'the process ended with -11 and no result',
    exit: expect.stringContaining('no result') as string,
    'remove the filter': refused,
    'change user': refused,
    'raise a limit': refused,
    forged: expect.stringContaining('no result') as string,
  });
}, 60_000);

test('where no process can be confined, multi-turn categories are missing and single turns are not', async () => {
  const check = fileURLToPath(new URL('bfcl_sidecar_check.py', import.meta.url));
  const reasons = JSON.parse(
    execFileSync((await enginePython('bfcl'))!, ['-X', 'utf8', '-s', check, 'unavailable'], {
      encoding: 'utf8',
    }),
  ) as Record<string, string | null>;
  const missing = Object.keys(reasons).filter((name) => reasons[name] !== null && !name.includes('java'));
  expect(missing).toEqual([
    'multi_turn_base',
    'multi_turn_miss_func',
    'multi_turn_miss_param',
    'multi_turn_long_context',
  ]);
  expect(reasons.multi_turn_base).toContain('no seccomp');
});

describe('text that tries to run code', () => {
  const reach = (): string => `__import__('pathlib').Path('${join(folder, 'reached')}').touch()`;
  /** What would be a call in one of these places, were it evaluated. */
  const hostile = (): string[] => [
    `[f(a=${reach()} or 1)]`,
    `[f(a=${reach()} + 0)]`,
    `[f(a=lambda: ${reach()})]`,
    `[f(a=[${reach()}][0])]`,
    `[f(a=f"{${reach()}}")]`,
    `[f(a=1 if ${reach()} else 2)]`,
    `[f(a={${reach()}: 1})]`,
    `[${reach()}]`,
    `[(lambda: ${reach()})()]`,
    `[f(a=(x := ${reach()}))]`,
    reach(),
    `<tool_call>{"name": "f", "arguments": ${JSON.stringify(reach())}}</tool_call>`,
  ];
  const floods = [
    '[f(a=9**9**9**9)]',
    `[f(a='x'*${10 ** 12})]`,
    `[f(a=${'['.repeat(150)}${']'.repeat(150)})]`,
    `[f(a=${'-'.repeat(50_000)}1)]`,
    `[f(a=1${'+1'.repeat(40_000)})]`,
    `[f(a=${'9'.repeat(10_000)})]`,
    '('.repeat(200_000),
    `[f(a=1${'0'.repeat(4000)}*1${'0'.repeat(4000)})]`,
    `[f${'.a'.repeat(40_000)}(b=1)]`,
  ];

  test('in a single turn is read as data or not at all, and leaves the others of its batch alone', async () => {
    const suite = await open('simple_python');
    // Right, were it evaluated: case 0 asks for base=10 and height=5.
    const answers = [
      '[calculate_triangle_area(base=abs(-10)+0, height=5)]',
      ...hostile(),
      ...floods,
      `<tool_call>${'['.repeat(100_000)}</tool_call>`,
    ];
    const verdicts = [
      ...(
        await judged(suite, ({ gold, id }) => [
          [text(answers[Number(id.split('_').at(-1))] ?? gold[0]![0]!.text)],
        ])
      ).values(),
    ];
    expect(verdicts.map(({ correct }) => correct)).toEqual(
      verdicts.map((_, index) => index >= answers.length),
    );
    expect(existsSync(join(folder, 'reached'))).toBe(false);
    await suite.close();
  });
  test('in Java is parsed in its own process, which ends in time', async ({ skip }) => {
    const suite = await open('simple_java').catch((error: unknown) => {
      skip(String(error));
      throw error;
    });
    const patience = `[f(a="new HashMap<>(){${' '.repeat(60_000)}")]`;
    const answers = [patience, `[f(a=${'('.repeat(40_000)})]`, ...hostile()];
    const verdicts = [
      ...(
        await judged(suite, (item) =>
          suite.cases.indexOf(item) < answers.length
            ? [[text(answers[suite.cases.indexOf(item)]!)]]
            : undefined,
        )
      ).values(),
    ];
    expect(verdicts.map(({ correct }) => correct)).toEqual(answers.map(() => false));
    expect(existsSync(join(folder, 'reached'))).toBe(false);
    await suite.close();
  });
  test.each(['prompt', 'native'] as const)(
    'in an episode is answered by an error, %s',
    async (toolFormat) => {
      const suite = await open('multi_turn_base', toolFormat);
      const item = suite.cases[0]!;
      const inText = [
        ...hostile(),
        // The official writer makes calls of dicts, and writes their keys as they are.
        `[cd(folder={"'document' or str": {}})]`,
        `[cd(folder={"${reach()} or str": {}})]`,
        `[cd(folder={"cd": {"folder=${reach()} or folder": 1}})]`,
        `[cd(folder={"a": 1, "b' : ${reach().replaceAll("'", '\\"')}, 'c": 1})]`,
        `[cd(**{"folder=${reach()}, folder": 1})]`,
        `[eval(x=1), exec(x=1), open(file="${join(folder, 'reached')}", mode="w")]`,
        '[__import__(name="os")]',
      ].map(text);
      const inJson: RecordedAnswer[] = [
        call('0 or cd', { folder: 'document' }),
        call('cd', { "folder=0 or 'document') and dict(x": 'y' }),
        call(`${reach()} or cd`, { folder: 'x' }),
        call('cd', { [`folder=${reach()} or folder`]: 'x' }),
        call('open', { file: join(folder, 'reached'), mode: 'w' }),
        call('cd', [reach()]),
      ];
      // The truth's own instance is a name in the official module.
      const tampering = [
        `${toolFormat}_ground_truth_eval_multi_turn_base_0_GorillaFileSystem_instance.cd(folder='document')`,
        `cd.__globals__.clear(x=1)`,
      ].map((code) => text(`[${code}]`));
      for (const answer of [...inText, ...inJson, ...tampering]) {
        const outcomes: unknown[] = [];
        const { tools } = scripted([answer], (result) => outcomes.push(result));
        const response = await suite.attempt(item, tools);
        expect(await suite.judge([{ item, response }], tools.signal)).toMatchObject([{ correct: false }]);
        for (const { step } of outcomes as { step: { results: string[] } | null }[])
          for (const result of step?.results ?? []) expect(result).toMatch(/^Error during execution|"error"/);
      }
      expect(existsSync(join(folder, 'reached'))).toBe(false);
      const [verdict] = (
        await judged(suite, (candidate) => (candidate === item ? item.gold : undefined))
      ).values();
      expect(verdict).toMatchObject({ correct: true });
      await suite.close();
    },
    60_000,
  );
});
