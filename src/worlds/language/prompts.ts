import type { AgentHistory } from '../../coevolution/agent-history.ts';
import { framePrompt, variationPrompt } from '../json-tasks/prompts.ts';
import type { Format } from '../json-tasks/prompts.ts';
import type { Exemplar, TaskSpec } from '../world.ts';
import { exampleTasks } from './draw-task.ts';
import { writeExpression } from './execute.ts';
import type { LanguageSettings } from './settings.ts';
import type { LanguageTask, Table } from './task-schema.ts';
import { languageSpec } from './task.ts';
import { library } from './tools.ts';

const signature = (name: string, parameters: Record<string, string>): string =>
  `${name}(${Object.entries(parameters)
    .map(([parameter, type]) => `${parameter}: ${type}`)
    .join(', ')})`;

const libraryLine = (name: string): string =>
  `- ${signature(name, library.get(name)!.parameters)}: ${library.get(name)!.description}`;

const tableText = ({ columns, rows }: Table): string =>
  [columns, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/**
 * The agent's prompt: the simulator's wording, and what code adds so that the task has one correct answer.
 */
export function languageAgentPrompt({ prompt, tools, evaluation }: LanguageTask, format: Format): string {
  const own = tools
    .filter((tool) => typeof tool !== 'string')
    .map(({ name, parameters, description }) => `- ${signature(name, parameters)}: ${description}`);
  const parts = [prompt.trim()];
  if (evaluation.kind === 'execution') {
    parts.push(
      `Expression: ${writeExpression(evaluation.program)}`,
      `It decides, whatever the text above says. Its tools:\n${tools
        .filter((tool) => typeof tool === 'string')
        .map(libraryLine)
        .join('\n')}`,
    );
    if (evaluation.table) parts.push(`Table:\n${tableText(evaluation.table)}`);
  }
  if (evaluation.kind === 'call')
    parts.push(
      `Tools:\n${own.join('\n')}`,
      'End with one call, with every argument and no other: <tool_call>{"name": "…", "arguments": {…}}</tool_call>',
    );
  else
    parts.push(
      'You may reason first. End with a line that begins with "Answer:" and holds the answer alone.',
    );
  return framePrompt(format, 'You solve tasks.', parts.join('\n\n'));
}

/** The simulator's prompt: role, form and tools, then the parts common to all JSON tasks. */
export function languageSimulatorPrompt(
  settings: LanguageSettings,
  history: AgentHistory,
  seedTask: TaskSpec,
  exemplars: readonly Exemplar[] = [],
): string {
  const { kinds, maxCalls, maxDepth } = settings;
  const examples = exampleTasks
    .filter(({ evaluation: { kind } }) => kinds.includes(kind))
    .map((task) => `- ${languageSpec(task)}`);
  const system = [
    'You write training tasks for an agent. A task is one JSON object, strictly of the form of these examples; "latents" (names with numbers or words that say what makes it hard) may be added. Anything else is worth nothing.',
    examples.join('\n'),
    ...(kinds.includes('execution')
      ? [
          `Tools of programs (at most ${maxCalls} calls, ${maxDepth} deep; whole numbers, short texts, dates such as 2026-02-28):\n${[...library.keys()].map(libraryLine).join('\n')}`,
        ]
      : []),
    'The prompt must not contain the answer.',
  ].join('\n\n');
  return variationPrompt(settings, system, history, { seedTask, exemplars });
}
