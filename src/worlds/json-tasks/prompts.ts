import type { AgentHistory } from '../../coevolution/agent-history.ts';
import { breakControlTokens } from '../../formats/control-tokens.ts';
import type { Exemplar, LabelVote, TaskSpec } from '../world.ts';
import type { JsonTaskSettings, VoteSettings } from './settings.ts';

export type Format = JsonTaskSettings['format'];

/**
 * The solver of a vote, as a world asks it: chat completions apply the model's own template.
 * @param frame the agent's prompt in a format
 */
export function voteSolver(
  solver: NonNullable<VoteSettings>['solver'],
  format: Format,
  frame: (spec: TaskSpec, format: Format) => string,
): Pick<LabelVote, 'solver'> {
  if (solver === undefined) return {};
  const { model, temperature, maxTokens, api } = solver;
  const own = api === 'chat' ? 'plain' : format;
  return { solver: { model, temperature, maxTokens, prompt: (spec) => frame(spec, own) } };
}

/** The frame of what the simulator reads. */
export const simulatorFormat = ({
  format,
  simulatorFormat: own = format,
}: Pick<JsonTaskSettings, 'format' | 'simulatorFormat'>): Format => own;

/** A prompt of one question, framed for the model's chat template. */
export function framePrompt(format: Format, system: string, user: string): string {
  return format === 'plain'
    ? `${system}\n\n${user}\n`
    : `<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user\n${user}<|im_end|>\n<|im_start|>assistant\n`;
}

const percent = (share: number | null): string =>
  share === null ? 'not measured' : `${Math.round(100 * share)} %`;

function historyText(
  { success, byKind, inBandShare, difficulty, trend, recentFailures }: AgentHistory,
  hasTarget: boolean,
): string {
  const kinds = Object.entries(byKind).map(
    ([kind, { successes, attempts }]) => `${kind} ${percent(attempts === 0 ? null : successes / attempts)}`,
  );
  const points = trend === null ? null : (100 * trend).toFixed(1);
  const change = trend === null ? 'not measured' : `${trend >= 0 ? '+' : ''}${points} points`;
  return [
    'The agent so far:',
    `- success: ${percent(success)}${difficulty === null ? '' : ` at difficulty ${difficulty.toFixed(1)}`}`,
    `- success by family: ${kinds.length === 0 ? 'not measured' : kinds.join(', ')}`,
    ...(hasTarget ? [`- tasks within the target: ${percent(inBandShare)}`] : []),
    `- change of success an epoch: ${change}`,
    `- never solved: ${recentFailures.length === 0 ? 'none' : recentFailures.map(failureText).join(', ')}`,
  ].join('\n');
}

function failureText({ kind, difficulty, failure }: AgentHistory['recentFailures'][number]): string {
  return `${kind} of difficulty ${difficulty}${failure === undefined ? '' : ` (${failure})`}`;
}

function repeatedText({ repeated = [] }: AgentHistory): string {
  if (repeated.length === 0) return '';
  const lines = repeated.map(({ signature, count }) => `- ${signature} (${count} times)`);
  return ['Written too often already, do not write these again:', ...lines].join('\n');
}

function exemplarText(exemplars: readonly Exemplar[]): string {
  if (exemplars.length === 0) return '';
  const lines = exemplars.map(({ spec, reward }) => `- reward ${reward.toFixed(2)}: ${spec}`);
  return ['Earlier tasks that were about right for the agent (reward of 1 is best):', ...lines].join('\n');
}

/**
 * The simulator's prompt, in a fixed order: role and form (the world's own `system`), the agent's history,
 * target, seed task, what was written too often, exemplars, the request.
 */
export function variationPrompt(
  settings: Pick<JsonTaskSettings, 'format' | 'simulatorFormat' | 'band'>,
  system: string,
  history: AgentHistory,
  { seedTask, exemplars = [] }: { seedTask: TaskSpec; exemplars?: readonly Exemplar[] },
): string {
  const { band } = settings;
  const user = [
    historyText(history, band !== null),
    band === null ? '' : `Aim at ${percent(band[0])} to ${percent(band[1])} success.`,
    `Task to vary: ${seedTask}`,
    repeatedText(history),
    exemplarText(exemplars),
    `Write one new task as a variation of it${band === null ? '' : ', harder or easier as the target asks'}. JSON alone.`,
  ];
  const text = user.filter((part) => part !== '').join('\n\n');
  return framePrompt(simulatorFormat(settings), system, text);
}

const MAX_SHOWN_TEXT = 4000;

/** Asks again for a text that was not a valid task. */
export function repairPrompt(format: Format, context: string, text: string, reason: string): string {
  // A control token in the text would end its turn; half of a surrogate pair could not be stored.
  const shown = breakControlTokens(Buffer.from(text.slice(0, MAX_SHOWN_TEXT)).toString());
  const request = `That is no task: ${reason.replaceAll('_', ' ')}. Write it again without this fault, JSON alone.`;
  return format === 'plain'
    ? `${context}${shown}\n\n${request}\n`
    : `${context}${shown}<|im_end|>\n<|im_start|>user\n${request}<|im_end|>\n<|im_start|>assistant\n`;
}
