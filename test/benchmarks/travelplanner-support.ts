import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { AttemptTools, OpenSuite, SuiteHost, SuiteSettings } from '../../src/benchmarks/suite.ts';
import type { PlanResponse } from '../../src/benchmarks/travelplanner/case-verdict.ts';
import type { PlannerTask } from '../../src/benchmarks/travelplanner/data/task.ts';
import { openTrain } from '../../src/benchmarks/travelplanner/data/train.ts';
import { travelSuite } from '../../src/benchmarks/travelplanner/travelplanner.ts';
import type { Answer, Question, ToolCall } from '../../src/formats/chat-messages.ts';
import { accepted } from '../../test-support/chat-history.ts';
import { permitLoopback } from '../../test-support/permitted-servers.ts';

export type Plan = Record<string, unknown>[];

export const shipped = fileURLToPath(new URL('../../data', import.meta.url));
export const settings = (toolFormat: SuiteSettings['toolFormat']): SuiteSettings => ({
  toolFormat,
  search: null,
});

export const hostWith = (downloads: string): SuiteHost => ({
  shipped,
  downloads,
  enginePython: () => Promise.resolve(null),
  permitServer: permitLoopback,
});

export const train = await openTrain(`${shipped}/travelplanner`);

export const task = (idx: number): PlannerTask => train.tasks[idx - 1]!;

/** A copy of a task's annotated plan. */
export const goldPlan = (idx: number): Plan => structuredClone(train.goldPlan(task(idx))) as Plan;

/** The task's annotated plan with fields of a day, from 1, replaced. */
export function changed(idx: number, day: number, fields: Record<string, unknown>): Plan {
  const plan = goldPlan(idx);
  plan[day - 1] = { ...plan[day - 1], ...fields };
  return plan;
}

export async function openTravel(
  mode: 'soleplanning' | 'tooluse',
  toolFormat: SuiteSettings['toolFormat'] = 'prompt',
): Promise<OpenSuite<PlannerTask, PlanResponse>> {
  const opened = await travelSuite('train', mode).open(hostWith('/nowhere'), settings(toolFormat));
  if ('missing' in opened) throw new Error(opened.missing);
  return opened;
}

export async function fixtureLines<Line>(name: string): Promise<Line[]> {
  const text = await readFile(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** A policy that says what it is given, in turn, and keeps what it was asked. */
export function scripted(
  answers: readonly (string | Partial<Answer>)[],
): AttemptTools & { questions: Question[] } {
  const questions: Question[] = [];
  return {
    questions,
    ask(question) {
      const next = answers[questions.length];
      questions.push(structuredClone(accepted(question)));
      if (next === undefined)
        throw new Error(`asked ${questions.length} times, and the script has ${answers.length} answers`);
      return Promise.resolve({
        text: '',
        toolCalls: [],
        finish_reason: 'stop',
        tokens: 0,
        ...(typeof next === 'string' ? { text: next } : next),
      });
    },
    judge: null,
    once: (run) => run(new AbortController().signal),
    signal: new AbortController().signal,
  };
}

let calls = 0;
export const toolCall = (name: string, args: object | string): ToolCall => ({
  id: `call-${++calls}`,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});

export const contentOf = (question: Question): string =>
  question.messages.map((message) => message.content).join('\n');
