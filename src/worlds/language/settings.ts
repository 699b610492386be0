import { z } from 'zod';
import { baseTasksField, heldOutPerCellField, range, rangeProblems } from '../shared-settings.ts';

/** How a task is judged: by a program that code executes, or against a label that the simulator wrote. */
export const evaluationKinds = ['execution', 'call', 'exact', 'reference'] as const;

export const languageSettings = z
  .strictObject({
    type: z.literal('language'),
    format: z.enum(['plain', 'chatml']).default('plain').describe('Frame of the prompts: `chatml` for chat models behind a completions endpoint, such as Qwen2.5; `plain` where the server applies the model’s template.'),
    kinds: z.array(z.enum(evaluationKinds)).min(1).default([...evaluationKinds]).describe('Evaluations that a task may have. Only `execution` has a label that no model wrote.'),
    band: z.tuple([z.number().min(0).max(1), z.number().min(0).max(1)]).default([0.4, 0.6]).describe('Success that the simulator is told to aim at.'),
    maxCalls: z.int().min(1).max(64).default(16).describe('Most tool calls in the program of a task: headroom for difficulty.'),
    maxDepth: z.int().min(1).max(16).default(8).describe('Most calls inside each other.'),
    similarAt: z.number().gt(0).max(1).default(0.6).describe('Token F1 from which a free-form answer counts as solved, and a vote as agreeing.'),
    repairs: z.int().min(0).max(4).default(1).describe('Times that a text which is no task is asked for again, with the reason in the prompt.'),
    vote: z
      .strictObject({
        votes: z.int().min(1).max(32).default(5).describe('Answers of the frozen initial agent to a task whose label the simulator wrote, outside the rollout budget.'),
        agreement: z.number().gt(0).max(1).default(0.6).describe('Share of them that must agree with the label; otherwise the task is invalid.'),
      })
      .nullable()
      .prefault({})
      .describe('Independent check of the simulator’s own labels; null = they are believed.'),
    baseTasks: baseTasksField(48),
    baseCalls: range([2, 5], 'Fewest and most calls in the built-in base tasks.'),
    heldOutCalls: range([1, 6], 'Calls in the built-in held-out tasks.'),
    heldOutPerCell: heldOutPerCellField(8, 'number of calls'),
    tasksFile: z
      .strictObject({
        path: z.string().min(1).describe('JSON Lines on the worker’s machine, a task a line.'),
        sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lowercase hexadecimal digits').nullable().default(null).describe('Hash that the file must have; null = not checked.'),
        heldOut: z.number().gt(0).lt(1).default(0.25).describe('Share of its tasks that is held out, drawn by a fixed seed; the others are the base tasks.'),
      })
      .nullable()
      .default(null)
      .describe('Tasks of your own in place of the built-in ones.'),
  })
  .describe('Tasks in natural language, for any OpenAI-compatible model.');

export type LanguageSettings = z.infer<typeof languageSettings>;

export function* languageProblems({ band: [low, high], baseCalls, heldOutCalls, maxCalls }: LanguageSettings): Generator<string> {
  if (low > high) yield `world.band: got [${low}, ${high}]; expected the lower end first`;
  yield* rangeProblems({ baseCalls, heldOutCalls }, { field: 'maxCalls', value: maxCalls }, 'the fewer calls first');
}
