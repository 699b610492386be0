import type { z } from 'zod';
import type { RandomStream } from '../../numerics/random.ts';
import { canonicalJson } from '../../store/canonical-json.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { LabelVote, Latents, ParsedTask, TaskSpec, Verdict, World } from '../world.ts';
import { framed, repairPrompt, variationPrompt } from './prompts.ts';
import type { JsonTaskSettings, TasksFile } from './settings.ts';
import { readTasksFile } from './tasks-file.ts';
import type { OwnTasks } from './tasks-file.ts';
import { parseUntrustedJson, taskJsonSchemaWithoutRules } from './untrusted-json.ts';

/**
 * A kind of task that a model writes as JSON and code judges: what is its own. A world is made of it by
 * `writtenWorld`.
 */
export interface JsonTaskDefinition<Task> {
  readonly name: string;
  readonly schema: z.ZodType<Task>;
  /** What the simulator is told of it. */
  readonly instructions: string;
  /** Why a task of the right form is none, as one word of the metrics. */
  fault(task: Task): string | undefined;
  /** One task for all that differ in nothing that matters. */
  canonical?(task: Task): Task;
  /** What the agent is given: who it is and what it is asked; no system message where there is none. */
  question(task: Task): { system?: string; user: string };
  kind(task: Task): string;
  signature(task: Task): string;
  difficulty(task: Task): number;
  latents(task: Task): Latents;
  score(task: Task, answer: string): Verdict;
  /** Class of an answer that is not right, where more is known than whether it could be read. */
  failure?(task: Task, answer: string): FailureClass;
  right(task: Task): string;
  /** Drawn blindly. */
  guess(task: Task, random: RandomStream): string;
  renderAnswer(answer: string): object;
  /** Whether two answers are one, for votes on labels; absent where no label is the simulator's word. */
  readonly same?: (task: Task, left: string, right: string) => boolean;
}

export interface JsonTaskWorldSettings extends JsonTaskSettings {
  tasksFile: TasksFile;
  vote?: { votes: number; agreement: number } | null;
}

/** A text as a task in canonical JSON, or why it is none. */
export function parseTaskText<Task>(form: JsonTaskDefinition<Task>, text: string): ParsedTask {
  const json = parseUntrustedJson(text);
  if ('reason' in json) return { valid: false, reason: json.reason };
  const parsed = form.schema.safeParse(json.value);
  if (!parsed.success) return { valid: false, reason: 'wrong_schema' };
  const reason = form.fault(parsed.data);
  return reason === undefined
    ? { valid: true, spec: canonicalJson(form.canonical?.(parsed.data) ?? parsed.data) }
    : { valid: false, reason };
}

/**
 * The user's tasks of a world. @throws InvalidConfig as `readTasksFile` does, naming the field of a line that
 * has another form
 */
export function readTaskText<Task>(
  form: JsonTaskDefinition<Task>,
  settings: JsonTaskWorldSettings,
): Promise<OwnTasks> {
  return readTasksFile(settings.tasksFile, {
    parseTask: (text) => parseTaskText(form, text),
    agentPrompt: (spec) => promptOf(form, settings, JSON.parse(spec) as Task),
    fault: (text) => {
      const json = parseUntrustedJson(text);
      const [issue] = 'value' in json ? (form.schema.safeParse(json.value).error?.issues ?? []) : [];
      return (
        issue && `${issue.path.map(String).join('.')}${issue.path.length > 0 ? ': ' : ''}${issue.message}`
      );
    },
  });
}

function promptOf<Task>(
  form: JsonTaskDefinition<Task>,
  { format }: JsonTaskWorldSettings,
  task: Task,
): string {
  const { system = 'You solve tasks.', user } = form.question(task);
  return framed(format, system, user);
}

/**
 * A world of a form's tasks.
 * @param own tasks of `tasksFile`, which `worldLoader` reads
 * @throws InvalidConfig where it was not read
 */
export function createJsonTaskWorld<Task>(
  form: JsonTaskDefinition<Task>,
  settings: JsonTaskWorldSettings,
  own: OwnTasks | undefined,
): World {
  if (own === undefined)
    throw new InvalidConfig(
      `experiment: world.tasksFile: got ${JSON.stringify(settings.tasksFile.path)}; a worker reads it, not this`,
    );
  const taskOf = (spec: TaskSpec): Task => JSON.parse(spec) as Task;
  const vote = settings.vote && form.same ? labelVote(form, form.same, settings.vote) : undefined;
  return {
    name: form.name,
    vocabulary: [],
    taskSchema: taskJsonSchemaWithoutRules(form.schema),
    ...(settings.repairs > 0 && {
      repairs: {
        limit: settings.repairs,
        prompt: (context: string, text: string, reason: string) =>
          repairPrompt(settings.format, context, text, reason),
      },
    }),
    ...(vote && { vote }),
    baseTasks: () => [...own.base],
    heldOutTasks: () => [...own.heldOut],
    environmentPrompt: (history, seedTask) => variationPrompt(settings, form.instructions, history, seedTask),
    exemplarPrompt: (history, seedTask, exemplars) =>
      variationPrompt(settings, form.instructions, history, seedTask, exemplars),
    parseTask: (text) => parseTaskText(form, text),
    agentPrompt: (spec) => promptOf(form, settings, taskOf(spec)),
    kind: (spec) => form.kind(taskOf(spec)),
    signature: (spec) => form.signature(taskOf(spec)),
    difficulty: (spec) => form.difficulty(taskOf(spec)),
    latents: (spec) => form.latents(taskOf(spec)),
    score: (spec, answer) => form.score(taskOf(spec), answer),
    failure: (spec, answer) => {
      const task = taskOf(spec);
      return (
        form.failure?.(task, answer) ?? (form.score(task, answer).wellFormed ? 'wrong answer' : 'no parse')
      );
    },
    referenceAnswer: (spec) => form.right(taskOf(spec)),
    randomAnswer: (spec, random) => form.guess(taskOf(spec), random),
    renderTask: (spec) => taskOf(spec) as object,
    renderAnswer: (answer) => form.renderAnswer(answer),
    // eslint-disable-next-line require-yield -- no corpus makes a model speak: an experiment with one from scratch is refused
    *warmUpCorpus() {
      throw new InvalidConfig(
        `experiment: the world "${form.name}" has no corpus; its models must be pretrained`,
      );
    },
  };
}

function labelVote<Task>(
  form: JsonTaskDefinition<Task>,
  same: NonNullable<JsonTaskDefinition<Task>['same']>,
  rules: { votes: number; agreement: number },
): LabelVote {
  return {
    ...rules,
    needed: () => true,
    tally: (spec, answers) => {
      const task = JSON.parse(spec) as Task;
      const others = answers.filter((answer) => form.score(task, answer).reward < 1);
      const together = (answer: string): number => others.filter((other) => same(task, answer, other)).length;
      return {
        agreeing: answers.length - others.length,
        disputed: others.some((answer) => together(answer) > answers.length / 2),
      };
    },
  };
}
/** What is wrong with an answer, for the simulator's history. */
export type FailureClass = 'no parse' | 'wrong tool' | 'wrong argument' | 'wrong answer';

type Named = { name: string };

/**
 * Class of calls that are not those asked for: other tools than these, in whatever order, or these with
 * something else given to them.
 */
export function callsFailure(asked: readonly Named[], made: readonly Named[] | undefined): FailureClass {
  if (made === undefined) return 'no parse';
  const names = (calls: readonly Named[]): string => JSON.stringify(calls.map(({ name }) => name).sort());
  return names(made) === names(asked) ? 'wrong argument' : 'wrong tool';
}
