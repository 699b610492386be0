import type { AgentHistory } from '../../coevolution/agent-history.ts';
import type { TaskSpec } from '../world.ts';
import { callOf } from './call.ts';
import type { Alphabet } from './call.ts';

/**
 * What the simulator is told of the agent: success overall and by tool in tenths (9 = 90 % or more), the mean length (for nested calls: look-ups) of the tasks that
 * success was measured on (success means nothing without it), and the last failures. null = not measured.
 */
export interface HistoryDigits {
  overall: number | null;
  length: number | null;
  byTool: readonly (number | null)[];
  failures: readonly { tool: string; length: number }[];
}

const listedFailures = 2;
const tenths = (rate: number | null): number | null => (rate === null ? null : Math.min(9, Math.floor(10 * rate)));
const digit = (value: number | null): string => (value === null ? '_' : Math.min(35, value).toString(36));

/** The agent's prompt, tools and arguments in fixed slots: `T:cafe____=` (fixed places make copying learnable for a tiny model). */
export function agentPrompt(spec: TaskSpec, { maxLength, maxDepth }: Alphabet): string {
  const { tools, argument } = callOf(spec);
  return `${tools.padEnd(maxDepth, '_')}:${argument.padEnd(maxLength, '_')}=`;
}

export function historyDigits(history: AgentHistory, { tools }: Alphabet): HistoryDigits {
  return {
    overall: tenths(history.success),
    length: history.difficulty === null ? null : Math.round(history.difficulty),
    byTool: tools.map((tool) => {
      const { successes, attempts } = history.byKind[tool] ?? { successes: 0, attempts: 0 };
      return tenths(attempts === 0 ? null : successes / attempts);
    }),
    failures: history.recentFailures.slice(0, listedFailures).map(({ kind, difficulty }) => ({ tool: kind, length: difficulty })),
  };
}

/** The simulator's prompt: the history, then the task to vary: `H4LcT7U3V0W5FTcFV9|T:cafe=` (numbers are one base-36 digit, 35 or more is z, `_` = not measured). */
export function environmentPrompt({ overall, length, byTool, failures }: HistoryDigits, seedTask: TaskSpec, { tools }: Alphabet): string {
  const success = tools.map((tool, index) => tool + digit(byTool[index] ?? null)).join('');
  const failed = Array.from({ length: listedFailures }, (_, index) => {
    const failure = failures[index];
    return failure === undefined ? 'F__' : `F${failure.tool}${digit(failure.length)}`;
  });
  return `H${digit(overall)}L${digit(length)}${success}${failed.join('')}|${seedTask}=`;
}
