import type { AgentHistory } from '../coevolution/agent-history.ts';
import type { RandomStream } from '../numerics/random.ts';
import type { TaskSpec } from './world.ts';

/**
 * What a small simulator is told about the agent: success overall and by kind (kinds are single letters) in
 * tenths (9 = 90 % or more), the mean difficulty of the tasks that success was measured on (success means
 * nothing without it), and the last failures. null = not measured.
 */
export interface HistoryDigits {
  overall: number | null;
  difficulty: number | null;
  byKind: readonly (number | null)[];
  failures: readonly { kind: string; difficulty: number }[];
}

const MAX_FAILURES = 2;
const tenths = (rate: number | null): number | null =>
  rate === null ? null : Math.min(9, Math.floor(10 * rate));
const digit = (value: number | null): string => (value === null ? '_' : Math.min(35, value).toString(36));

/** Characters of the prompts below, other than kinds and tasks. */
export const historyCharacters = [...'0123456789abcdefghijklmnopqrstuvwxyz', ...'HLF|=_'];

export function historyDigits(history: AgentHistory, kinds: readonly string[]): HistoryDigits {
  return {
    overall: tenths(history.success),
    difficulty: history.difficulty === null ? null : Math.round(history.difficulty),
    byKind: kinds.map((kind) => {
      const { successes, attempts } = history.byKind[kind] ?? { successes: 0, attempts: 0 };
      return tenths(attempts === 0 ? null : successes / attempts);
    }),
    failures: history.recentFailures
      .slice(0, MAX_FAILURES)
      .map(({ kind, difficulty }) => ({ kind, difficulty })),
  };
}

/**
 * The simulator's prompt: the history, then the task to vary: `H4LcT7U3V0W5FTcFV9|T:cafe=` (numbers are one
 * base-36 digit, 35 or more is z, `_` = not measured).
 */
export function historyPrompt(
  { overall, difficulty, byKind, failures }: HistoryDigits,
  seedTask: TaskSpec,
  kinds: readonly string[],
): string {
  const success = kinds.map((kind, index) => kind + digit(byKind[index] ?? null)).join('');
  const failed = Array.from({ length: MAX_FAILURES }, (_, index) => {
    const failure = failures[index];
    return failure === undefined ? 'F__' : `F${failure.kind}${digit(failure.difficulty)}`;
  });
  return `H${digit(overall)}L${digit(difficulty)}${success}${failed.join('')}|${seedTask}=`;
}

/** Length of such a prompt without its task. */
export const historyLength = (kinds: number): number => 2 * kinds + 12;

/**
 * A history as one could come up, for a corpus in which it means nothing: what it means is to be learnt from
 * rewards.
 */
export function randomHistory(
  kinds: readonly string[],
  maxDifficulty: number,
  random: RandomStream,
): HistoryDigits {
  // Sometimes nothing is known yet, as in the first epoch.
  if (random.int(8) === 0)
    return { overall: null, difficulty: null, byKind: kinds.map(() => null), failures: [] };
  return {
    overall: random.int(10),
    difficulty: 1 + random.int(maxDifficulty),
    byKind: kinds.map(() => (random.int(8) === 0 ? null : random.int(10))),
    failures: Array.from({ length: random.int(8) === 0 ? random.int(2) : 2 }, () => ({
      kind: random.pick(kinds),
      difficulty: 1 + random.int(maxDifficulty),
    })),
  };
}
