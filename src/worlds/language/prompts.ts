import type { AgentHistory } from '../../coevolution/agent-history.ts';
import type { Exemplar, TaskSpec } from '../world.ts';
import { expressionOf } from './execute.ts';
import { exampleTasks } from './example-tasks.ts';
import type { LanguageSettings } from './settings.ts';
import { specOf } from './task.ts';
import type { LanguageTask, Table } from './task-schema.ts';
import { library } from './tools.ts';

type Format = LanguageSettings['format'];

/** A prompt of one question, in the frame that the model knows. */
function framed(format: Format, system: string, user: string): string {
  return format === 'plain' ? `${system}\n\n${user}\n` : `<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user\n${user}<|im_end|>\n<|im_start|>assistant\n`;
}

const signature = (name: string, parameters: Record<string, string>): string => `${name}(${Object.entries(parameters).map(([parameter, type]) => `${parameter}: ${type}`).join(', ')})`;
const libraryLine = (name: string): string => `- ${signature(name, library.get(name)!.parameters)}: ${library.get(name)!.description}`;
const tableText = ({ columns, rows }: Table): string => [columns, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** What the agent is given: the simulator's wording, and what code adds so that the task has one right answer whatever that says. */
export function agentPrompt({ prompt, tools, evaluation }: LanguageTask, format: Format): string {
  const own = tools.filter((tool) => typeof tool !== 'string').map(({ name, parameters, description }) => `- ${signature(name, parameters)}: ${description}`);
  const parts = [prompt.trim()];
  if (evaluation.kind === 'execution') {
    parts.push(`Expression: ${expressionOf(evaluation.program)}`, `It decides, whatever the text above says. Its tools:\n${tools.filter((tool) => typeof tool === 'string').map(libraryLine).join('\n')}`);
    if (evaluation.table) parts.push(`Table:\n${tableText(evaluation.table)}`);
  }
  if (evaluation.kind === 'call') parts.push(`Tools:\n${own.join('\n')}`, 'End with one call, with every argument and no other: <tool_call>{"name": "…", "arguments": {…}}</tool_call>');
  else parts.push('You may reason first. End with a line that begins with "Answer:" and holds the answer alone.');
  return framed(format, 'You solve tasks.', parts.join('\n\n'));
}

const percent = (share: number | null): string => (share === null ? 'not measured' : `${Math.round(100 * share)} %`);

function historyText({ success, byKind, inBandShare, difficulty, trend, recentFailures }: AgentHistory): string {
  const kinds = Object.entries(byKind).map(([kind, { successes, attempts }]) => `${kind} ${percent(attempts === 0 ? null : successes / attempts)}`);
  return [
    'The agent so far:',
    `- success: ${percent(success)}${difficulty === null ? '' : ` at difficulty ${difficulty.toFixed(1)}`}`,
    `- success by family: ${kinds.length === 0 ? 'not measured' : kinds.join(', ')}`,
    `- tasks within the target: ${percent(inBandShare)}`,
    `- change of success an epoch: ${trend === null ? 'not measured' : `${trend >= 0 ? '+' : ''}${(100 * trend).toFixed(1)} points`}`,
    `- never solved: ${recentFailures.length === 0 ? 'none' : recentFailures.map(({ kind, difficulty: at }) => `${kind} of difficulty ${at}`).join(', ')}`,
  ].join('\n');
}

const digestText = ({ repeated = [] }: AgentHistory): string => (repeated.length === 0 ? '' : `Written too often already, do not write these again:\n${repeated.map(({ signature: text, count }) => `- ${text} (${count} times)`).join('\n')}`);

const exemplarText = (exemplars: readonly Exemplar[]): string =>
  exemplars.length === 0 ? '' : `Earlier tasks that were about right for the agent (reward of 1 is best):\n${exemplars.map(({ spec, reward }) => `- reward ${reward.toFixed(2)}: ${spec}`).join('\n')}`;

/**
 * What the simulator is given, in one fixed order and written by code alone: role and form, tools, the agent's history, target, seed
 * task, what was written too often, exemplars, the request.
 */
export function environmentPrompt({ format, kinds, band: [low, high], maxCalls, maxDepth }: LanguageSettings, history: AgentHistory, seedTask: TaskSpec, exemplars: readonly Exemplar[] = []): string {
  const examples = exampleTasks.filter(({ evaluation: { kind } }) => kinds.includes(kind)).map((task) => `- ${specOf(task)}`);
  const system = [
    'You write training tasks for an agent. A task is one JSON object, strictly of the form of these examples; "latents" (names with numbers or words that say what makes it hard) may be added. Anything else is worth nothing.',
    examples.join('\n'),
    ...(kinds.includes('execution') ? [`Tools of programs (at most ${maxCalls} calls, ${maxDepth} deep; whole numbers, short texts, dates such as 2026-02-28):\n${[...library.keys()].map(libraryLine).join('\n')}`] : []),
    'The prompt must not contain the answer.',
  ].join('\n\n');
  const user = [
    historyText(history),
    `Aim at ${percent(low)} to ${percent(high)} success.`,
    `Task to vary: ${seedTask}`,
    digestText(history),
    exemplarText(exemplars),
    'Write one new task as a variation of it, harder or easier as the target asks. JSON alone.',
  ];
  return framed(format, system, user.filter((part) => part !== '').join('\n\n'));
}

const shownText = 4000;

/** Asks again for a text that was no task. */
export function repairPrompt(format: Format, context: string, text: string, reason: string): string {
  // A control token in the text would end its turn; half of a character, cut in two, could not be stored.
  const shown = Buffer.from(text.slice(0, shownText)).toString().replaceAll('<|', '< |');
  const request = `That is no task: ${reason.replaceAll('_', ' ')}. Write it again without this fault, JSON alone.`;
  return format === 'plain' ? `${context}${shown}\n\n${request}\n` : `${context}${shown}<|im_end|>\n<|im_start|>user\n${request}<|im_end|>\n<|im_start|>assistant\n`;
}
