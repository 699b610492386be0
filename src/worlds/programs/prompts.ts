import type { AgentHistory } from '../../coevolution/agent-history.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { framePrompt } from '../json-tasks/prompts.ts';
import type { Format } from '../json-tasks/prompts.ts';
import type { TaskSpec } from '../world.ts';
import { listCalls, partOf } from './program.ts';
import type { Program } from './program.ts';
import { signatureOf } from './request.ts';
import type { Request } from './request.ts';
import { families, usualTools } from './tools.ts';

export const agentPrompt = (format: Format, { tools, text }: Request): string =>
  framePrompt(
    format,
    `Answer with calls alone, as [tool(name=value)]. Tools: ${tools.map(signatureOf).join(', ')}`,
    text,
  );

/** Numbers of calls that are counted apart; the last stands for more calls, too. */
export const MAX_CALLS_CLASS = 4;
const callsClasses = Array.from({ length: MAX_CALLS_CLASS }, (_, index) => index + 1);

/**
 * Family of the first program's outermost tool, and the number of calls: `dates_2`. The held-out tasks with
 * something unseen are kinds of their own, so that they are counted apart.
 */
export function kindOf(program: Program): string {
  const part = partOf(program);
  if (part !== 'usual') return part;
  return `${program[0]!.tool.family}_${Math.min(MAX_CALLS_CLASS, listCalls(program).length)}`;
}

const SIGNATURE_TOOLS = 6;
export const signature = (program: Program): string =>
  listCalls(program)
    .slice(0, SIGNATURE_TOOLS)
    .map(({ tool }) => tool.name)
    .join(' ');

const failureClasses = ['no parse', 'wrong number of calls', 'wrong tool', 'wrong argument'];
const MAX_FAILURES = 2;

/**
 * What the simulator is told, in few tokens: success overall, by family and by number of calls, in tenths
 * (9 = 90 % or more; null = not measured), and the last tasks that were never solved.
 */
export interface Digest {
  overall: number | null;
  byFamily: readonly (number | null)[];
  byCalls: readonly (number | null)[];
  failures: readonly string[];
  /** The tools that were written together most often; absent if none were twice. */
  repeated?: string | undefined;
}

const tenths = (successes: number, attempts: number): number | null =>
  attempts === 0 ? null : Math.min(9, Math.floor((10 * successes) / attempts));

export function digestOf({ byKind, recentFailures, repeated }: AgentHistory): Digest {
  const rate = (isCounted: (kind: string) => boolean): number | null => {
    const counted = Object.entries(byKind).filter(([kind]) => isCounted(kind));
    const total = (field: 'successes' | 'attempts'): number =>
      counted.reduce((sum, [, counts]) => sum + counts[field], 0);
    return tenths(total('successes'), total('attempts'));
  };
  return {
    overall: rate(() => true),
    byFamily: families.map((family) => rate((kind) => kind.startsWith(`${family}_`))),
    byCalls: callsClasses.map((calls) => rate((kind) => kind.endsWith(`_${calls}`))),
    failures: recentFailures
      .slice(0, MAX_FAILURES)
      .map(({ kind, failure = '' }) => `${kind.replace('_', ' ')} ${failure}`.trim()),
    repeated: repeated?.[0]?.signature,
  };
}

/** A digest as one could come up, for a corpus in which it means nothing. */
export function randomDigest(random: RandomStream): Digest {
  // Sometimes nothing is known yet, as in the first epoch.
  const isEmpty = random.int(8) === 0;
  const draw = (): number | null => (isEmpty || random.int(8) === 0 ? null : random.int(10));
  const drawFailure = (): string =>
    `${random.pick(families)} ${1 + random.int(MAX_CALLS_CLASS)} ${random.pick(failureClasses)}`;
  const drawTools = (): string[] =>
    Array.from({ length: 1 + random.int(3) }, () => random.pick(usualTools).name);
  return {
    overall: isEmpty ? null : random.int(10),
    byFamily: families.map(draw),
    byCalls: callsClasses.map(draw),
    failures: isEmpty ? [] : Array.from({ length: random.int(MAX_FAILURES + 1) }, drawFailure),
    repeated: isEmpty || random.int(2) === 0 ? undefined : drawTools().join(' '),
  };
}

const digit = (value: number | null): string => (value === null ? '-' : String(value));

export function simulatorPrompt(format: Format, digest: Digest, seedTask: TaskSpec): string {
  const { overall, byFamily, byCalls, failures, repeated } = digest;
  const lines = [
    `Success: ${digit(overall)}, ${families.map((family, index) => `${family} ${digit(byFamily[index]!)}`).join(', ')}`,
    `By calls: ${callsClasses.map((calls, index) => `${calls}: ${digit(byCalls[index]!)}`).join(', ')}`,
    ...(failures.length === 0 ? [] : [`Failed: ${failures.join('; ')}`]),
    ...(repeated === undefined ? [] : [`Too often: ${repeated}`]),
    `Vary: ${seedTask}`,
  ];
  return framePrompt(format, 'Write one program of tools.', lines.join('\n'));
}
