import type { AgentHistory } from '../../coevolution/agent-history.ts';
import type { Exemplar, TaskSpec } from '../world.ts';
import type { JsonTaskSettings } from './settings.ts';

export type Format = JsonTaskSettings['format'];

/** A prompt of one question, in the frame that the model knows. */
export function framePrompt(format: Format, system: string, user: string): string {
  return format === 'plain'
    ? `${system}\n\n${user}\n`
    : `<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user\n${user}<|im_end|>\n<|im_start|>assistant\n`;
}

const percent = (share: number | null): string =>
  share === null ? 'not measured' : `${Math.round(100 * share)} %`;

function historyText({
  success,
  byKind,
  inBandShare,
  difficulty,
  trend,
  recentFailures,
}: AgentHistory): string {
  const kinds = Object.entries(byKind).map(
    ([kind, { successes, attempts }]) => `${kind} ${percent(attempts === 0 ? null : successes / attempts)}`,
  );
  return [
    'The agent so far:',
    `- success: ${percent(success)}${difficulty === null ? '' : ` at difficulty ${difficulty.toFixed(1)}`}`,
    `- success by family: ${kinds.length === 0 ? 'not measured' : kinds.join(', ')}`,
    `- tasks within the target: ${percent(inBandShare)}`,
    `- change of success an epoch: ${trend === null ? 'not measured' : `${trend >= 0 ? '+' : ''}${(100 * trend).toFixed(1)} points`}`,
    `- never solved: ${recentFailures.length === 0 ? 'none' : recentFailures.map(({ kind, difficulty: at, failure }) => `${kind} of difficulty ${at}${failure === undefined ? '' : ` (${failure})`}`).join(', ')}`,
  ].join('\n');
}

const digestText = ({ repeated = [] }: AgentHistory): string =>
  repeated.length === 0
    ? ''
    : `Written too often already, do not write these again:\n${repeated.map(({ signature: text, count }) => `- ${text} (${count} times)`).join('\n')}`;

const exemplarText = (exemplars: readonly Exemplar[]): string =>
  exemplars.length === 0
    ? ''
    : `Earlier tasks that were about right for the agent (reward of 1 is best):\n${exemplars.map(({ spec, reward }) => `- reward ${reward.toFixed(2)}: ${spec}`).join('\n')}`;

/**
 * What the simulator is given, in one fixed order and written by code alone: role and form (the world's own
 * `system`), the agent's history, target, seed task, what was written too often, exemplars, the request.
 */
export function variationPrompt(
  { format, band: [low, high] }: Pick<JsonTaskSettings, 'format' | 'band'>,
  system: string,
  history: AgentHistory,
  seedTask: TaskSpec,
  exemplars: readonly Exemplar[] = [],
): string {
  const user = [
    historyText(history),
    `Aim at ${percent(low)} to ${percent(high)} success.`,
    `Task to vary: ${seedTask}`,
    digestText(history),
    exemplarText(exemplars),
    'Write one new task as a variation of it, harder or easier as the target asks. JSON alone.',
  ];
  return framePrompt(format, system, user.filter((part) => part !== '').join('\n\n'));
}

const MAX_SHOWN_TEXT = 4000;

/** Asks again for a text that was no task. */
export function repairPrompt(format: Format, context: string, text: string, reason: string): string {
  // A control token in the text would end its turn; half of a character, cut in two, could not be stored.
  const shown = Buffer.from(text.slice(0, MAX_SHOWN_TEXT)).toString().replaceAll('<|', '< |');
  const request = `That is no task: ${reason.replaceAll('_', ' ')}. Write it again without this fault, JSON alone.`;
  return format === 'plain'
    ? `${context}${shown}\n\n${request}\n`
    : `${context}${shown}<|im_end|>\n<|im_start|>user\n${request}<|im_end|>\n<|im_start|>assistant\n`;
}
