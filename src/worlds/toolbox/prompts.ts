import type { AgentHistory } from '../../coevolution/agent-history.ts';
import type { TaskSpec } from '../world.ts';
import { callOf } from './call.ts';
import type { Alphabet } from './call.ts';

/** What the simulator is told of the agent, as digits: success overall and by tool (0 = below 10 %, 9 = 90 % or more), last failures. */
export interface HistoryDigits {
  overall: number;
  byTool: readonly number[];
  failures: readonly { tool: string; length: number }[];
}

const listedFailures = 2;
const unmeasured = 5;
const decile = (successes: number, attempts: number): number => (attempts === 0 ? unmeasured : Math.min(9, Math.floor((10 * successes) / attempts)));

/** The agent's prompt, the argument in fixed slots: `T:cafe____=` (fixed places make copying learnable for a tiny model). */
export function agentPrompt(spec: TaskSpec, { maxLength }: Alphabet): string {
  const { tool, argument } = callOf(spec);
  return `${tool}:${argument.padEnd(maxLength, '_')}=`;
}

export function historyDigits(history: AgentHistory, { tools }: Alphabet): HistoryDigits {
  const counts = tools.map((tool) => history.byKind[tool] ?? { successes: 0, attempts: 0 });
  return {
    overall: history.success === null ? unmeasured : Math.min(9, Math.floor(10 * history.success)),
    byTool: counts.map(({ successes, attempts }) => decile(successes, attempts)),
    failures: history.recentFailures.slice(0, listedFailures).map(({ kind, difficulty }) => ({ tool: kind, length: difficulty })),
  };
}

/** The simulator's prompt: the history, then the task to vary: `H4T7U3V0W5FTcFV9|T:cafe=` (lengths as one base-36 digit, `F__` = no failure). */
export function environmentPrompt(history: HistoryDigits, seedTask: TaskSpec, { tools }: Alphabet): string {
  const byTool = tools.map((tool, index) => `${tool}${history.byTool[index] ?? unmeasured}`).join('');
  const failures = Array.from({ length: listedFailures }, (_, index) => {
    const failure = history.failures[index];
    return failure === undefined ? 'F__' : `F${failure.tool}${failure.length.toString(36)}`;
  });
  return `H${history.overall}${byTool}${failures.join('')}|${seedTask}=`;
}
