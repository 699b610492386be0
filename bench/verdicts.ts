import { bfcl } from '../src/benchmarks/bfcl/bfcl.ts';
import { enginePython } from '../src/benchmarks/registry.ts';
import type { OpenSuite } from '../src/benchmarks/suite.ts';
import { permitLoopback } from '../test-support/permitted-servers.ts';

const single = ['simple_python', 'multiple', 'parallel', 'parallel_multiple', 'live_simple', 'live_multiple'];
const multiTurn = ['base', 'miss_func', 'miss_param', 'long_context'].map((name) => `multi_turn_${name}`);
/** How often all single-turn cases are judged. */
const rounds = 10;

async function open(name: string): Promise<OpenSuite> {
  const suite = bfcl.suites.find((candidate) => candidate.name === `bfcl_v4_${name}`)!;
  const opened = await suite.open(
    { shipped: '', downloads: '', enginePython, permitServer: permitLoopback },
    { toolFormat: 'prompt', search: null },
  );
  if ('missing' in opened) throw new Error(opened.missing);
  return opened;
}

/**
 * Judges the gold answers of every case `times` times. Gives the cases judged, the seconds of judging, and
 * the seconds with the start of the sidecar.
 */
async function judge(
  name: string,
  times: number,
): Promise<{ cases: number; judging: number; total: number }> {
  const begun = performance.now();
  const suite = await open(name);
  const answered = suite.cases.map((item) => ({ item, response: suite.gold(item) }));
  const started = performance.now();
  for (let round = 0; round < times; round++) await suite.judge(answered, new AbortController().signal);
  const ended = performance.now();
  await suite.close();
  return {
    cases: answered.length * times,
    judging: (ended - started) / 1000,
    total: (performance.now() - begun) / 1000,
  };
}

/** BFCL's verdicts on gold answers, through the sidecar and its throw-away processes. */
export async function verdicts(): Promise<Record<string, unknown>> {
  const ast = { cases: 0, judging: 0, total: 0 };
  for (const name of single) {
    const { cases, judging, total } = await judge(name, rounds);
    ast.cases += cases;
    ast.judging += judging;
    ast.total += total;
  }
  const episodes = { cases: 0, total: 0 };
  for (const name of multiTurn) {
    const { cases, total } = await judge(name, 1);
    episodes.cases += cases;
    episodes.total += total;
  }
  return {
    ast_verdicts: ast.cases,
    ast_verdicts_per_second: Math.round(ast.cases / ast.judging),
    ast_verdicts_per_second_with_start: Math.round(ast.cases / ast.total),
    target_ast_verdicts_per_second: 10_000,
    multi_turn_entries: episodes.cases,
    multi_turn_seconds_with_start: episodes.total,
    target_multi_turn_seconds: 10,
  };
}
