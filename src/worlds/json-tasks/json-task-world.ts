import type { z } from 'zod';
import type { RandomStream } from '../../numerics/random.ts';
import { canonicalJson } from '../../store/canonical-json.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { LabelVote, Latents, ParsedTask, TaskSpec, Verdict, World } from '../world.ts';
import { framePrompt, repairPrompt, variationPrompt } from './prompts.ts';
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
  validate(task: Task): string | undefined;
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
  referenceAnswer(task: Task): string;
  /** Drawn blindly. */
  randomAnswer(task: Task, random: RandomStream): string;
  renderAnswer(answer: string): object;
  /** Whether two answers are one, for votes on labels; absent where no label is the simulator's word. */
  readonly answersAgree?: (task: Task, left: string, right: string) => boolean;
}

export interface JsonTaskWorldSettings extends JsonTaskSettings {
  tasksFile: TasksFile;
  vote?: { votes: number; agreement: number } | null;
}

/** A text as a task in canonical JSON, or why it is none. */
export function parseJsonTask<Task>(definition: JsonTaskDefinition<Task>, text: string): ParsedTask {
  const json = parseUntrustedJson(text);
  if ('reason' in json) return { valid: false, reason: json.reason };
  const parsed = definition.schema.safeParse(json.value);
  if (!parsed.success) return { valid: false, reason: 'wrong_schema' };
  const reason = definition.validate(parsed.data);
  return reason === undefined
    ? { valid: true, spec: canonicalJson(definition.canonical?.(parsed.data) ?? parsed.data) }
    : { valid: false, reason };
}

/**
 * The user's tasks of a world. @throws InvalidConfig as `readTasksFile` does, naming the field of a line that
 * has another form
 */
export function readJsonTasks<Task>(
  definition: JsonTaskDefinition<Task>,
  settings: JsonTaskWorldSettings,
): Promise<OwnTasks> {
  return readTasksFile(settings.tasksFile, {
    parseTask: (text) => parseJsonTask(definition, text),
    agentPrompt: (spec) => agentPrompt(definition, settings, JSON.parse(spec) as Task),
    schemaProblem: (text) => {
      const json = parseUntrustedJson(text);
      const [issue] = 'value' in json ? (definition.schema.safeParse(json.value).error?.issues ?? []) : [];
      return (
        issue && `${issue.path.map(String).join('.')}${issue.path.length > 0 ? ': ' : ''}${issue.message}`
      );
    },
  });
}

function agentPrompt<Task>(
  definition: JsonTaskDefinition<Task>,
  { format }: JsonTaskWorldSettings,
  task: Task,
): string {
  const { system = 'You solve tasks.', user } = definition.question(task);
  return framePrompt(format, system, user);
}

/**
 * A world of a form's tasks.
 * @param own tasks of `tasksFile`, which `worldLoader` reads
 * @throws InvalidConfig where it was not read
 */
export function createJsonTaskWorld<Task>(
  definition: JsonTaskDefinition<Task>,
  settings: JsonTaskWorldSettings,
  own: OwnTasks | undefined,
): World {
  if (own === undefined)
    throw new InvalidConfig(
      `experiment: world.tasksFile: got ${JSON.stringify(settings.tasksFile.path)}; a worker reads it, not this`,
    );
  const taskOf = (spec: TaskSpec): Task => JSON.parse(spec) as Task;
  const vote =
    settings.vote && definition.answersAgree
      ? labelVote(definition, definition.answersAgree, settings.vote)
      : undefined;
  return {
    name: definition.name,
    vocabulary: [],
    taskSchema: taskJsonSchemaWithoutRules(definition.schema),
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
    environmentPrompt: (history, seedTask) =>
      variationPrompt(settings, definition.instructions, history, { seedTask }),
    exemplarPrompt: (history, seedTask, exemplars) =>
      variationPrompt(settings, definition.instructions, history, { seedTask, exemplars }),
    parseTask: (text) => parseJsonTask(definition, text),
    agentPrompt: (spec) => agentPrompt(definition, settings, taskOf(spec)),
    kind: (spec) => definition.kind(taskOf(spec)),
    signature: (spec) => definition.signature(taskOf(spec)),
    difficulty: (spec) => definition.difficulty(taskOf(spec)),
    latents: (spec) => definition.latents(taskOf(spec)),
    score: (spec, answer) => definition.score(taskOf(spec), answer),
    failure: (spec, answer) => {
      const task = taskOf(spec);
      return (
        definition.failure?.(task, answer) ??
        (definition.score(task, answer).wellFormed ? 'wrong answer' : 'no parse')
      );
    },
    referenceAnswer: (spec) => definition.referenceAnswer(taskOf(spec)),
    randomAnswer: (spec, random) => definition.randomAnswer(taskOf(spec), random),
    renderTask: (spec) => taskOf(spec) as object,
    renderAnswer: (answer) => definition.renderAnswer(answer),
    // eslint-disable-next-line require-yield -- models from scratch cannot learn natural language
    *warmUpCorpus() {
      throw new InvalidConfig(
        `experiment: the world "${definition.name}" has no corpus; its models must be pretrained`,
      );
    },
  };
}

function labelVote<Task>(
  definition: JsonTaskDefinition<Task>,
  answersAgree: NonNullable<JsonTaskDefinition<Task>['answersAgree']>,
  rules: { votes: number; agreement: number },
): LabelVote {
  return {
    ...rules,
    needed: () => true,
    tally: (spec, answers) => {
      const task = JSON.parse(spec) as Task;
      const dissenting = answers.filter((answer) => definition.score(task, answer).reward < 1);
      const countAgreeing = (answer: string): number =>
        dissenting.filter((dissenter) => answersAgree(task, answer, dissenter)).length;
      return {
        agreeing: answers.length - dissenting.length,
        disputed: dissenting.some((answer) => countAgreeing(answer) > answers.length / 2),
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
export function classifyCallsFailure(
  expected: readonly Named[],
  made: readonly Named[] | undefined,
): FailureClass {
  if (made === undefined) return 'no parse';
  const names = (calls: readonly Named[]): string => JSON.stringify(calls.map(({ name }) => name).sort());
  return names(made) === names(expected) ? 'wrong argument' : 'wrong tool';
}
