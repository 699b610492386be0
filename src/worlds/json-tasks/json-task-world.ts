import type { z } from 'zod';
import type { RandomStream } from '../../numerics/random.ts';
import { canonicalJson } from '../../store/canonical-json.ts';
import type { ReadDataFile } from '../../store/data-files.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type {
  CorpusRow,
  LabelVote,
  Latents,
  ParsedTask,
  TaskSpec,
  TaskWording,
  Verdict,
  World,
} from '../world.ts';
import type { FailureClass } from './failure-class.ts';
import { framePrompt, repairPrompt, simulatorFormat, variationPrompt, voteSolver } from './prompts.ts';
import type { JsonTaskSettings, TasksFile, VoteSettings, WordingSettings } from './settings.ts';
import { tallyVotes } from './tally-votes.ts';
import { readTasksFile } from './tasks-file.ts';
import type { LineTasks, OwnTasks } from './tasks-file.ts';
import { parseUntrustedJson } from './untrusted-json.ts';

/**
 * What one kind of JSON task adds: a model writes it, code judges it. `createJsonTaskWorld` makes a world of
 * it.
 */
export interface JsonTaskDefinition<Task> {
  readonly name: string;
  readonly schema: z.ZodType<Task>;
  /** What a server may let the simulator write. */
  readonly outputSchema: Readonly<Record<string, unknown>>;
  /** Instructions to the simulator. */
  readonly instructions: string;
  /** Why a task that fits the schema is invalid, as a word in the metrics; undefined if it is valid. */
  validate(task: Task): string | undefined;
  /** Cuts a line of the user's file into tasks; absent if a line is a task. */
  readonly cutLine?: (line: string) => LineTasks;
  /** The task as the simulator is shown it, if that is shorter than the task itself. */
  readonly shown?: (task: Task) => unknown;
  /** What a model is asked for the words of a task, and the task in its words; absent if the simulator words it. */
  readonly wording?: {
    readonly question: (task: Task) => string;
    readonly apply: (task: Task, text: string) => Task | undefined;
  };
  /** The canonical form of equivalent tasks. */
  canonical?(task: Task): Task;
  /** The agent's system message, if any, and its question. */
  question(task: Task): { system?: string; user: string };
  kind(task: Task): string;
  signature(task: Task): string;
  difficulty(task: Task): number;
  readonly difficultyUnit: string;
  latents(task: Task): Latents;
  score(task: Task, answer: string): Verdict;
  /** Class of an incorrect answer, if more is known than whether it parses. */
  failure?(task: Task, answer: string): FailureClass;
  referenceAnswer(task: Task): string;
  /** Drawn blindly. */
  randomAnswer(task: Task, random: RandomStream): string;
  renderAnswer(answer: string): object;
  /** Whether two answers are equal, for votes on labels; absent if the simulator writes no labels. */
  readonly answersAgree?: (task: Task, left: string, right: string) => boolean;
}

export interface JsonTaskWorldSettings extends JsonTaskSettings {
  tasksFile: TasksFile;
  vote?: VoteSettings;
  wording?: WordingSettings;
}

/** Parses a text into a task in canonical JSON, or returns the reason it is invalid. */
export function parseJsonTask<Task>(definition: JsonTaskDefinition<Task>, text: string): ParsedTask {
  const json = parseUntrustedJson(text);
  if ('reason' in json) return { valid: false, reason: json.reason };
  const parsed = definition.schema.safeParse(json.value);
  if (!parsed.success) return { valid: false, reason: 'wrong_schema' };
  const reason = definition.validate(parsed.data);
  if (reason !== undefined) return { valid: false, reason };
  const spec = canonicalJson(definition.canonical?.(parsed.data) ?? parsed.data);
  const task = JSON.parse(spec) as Task;
  return definition.score(task, definition.referenceAnswer(task)).reward === 1
    ? { valid: true, spec }
    : { valid: false, reason: 'unsolvable' };
}

/**
 * Reads the user's tasks of a world. @throws InvalidConfig as `readTasksFile` does, naming the field of a
 * line that does not fit the schema
 */
export function readJsonTasks<Task>(
  definition: JsonTaskDefinition<Task>,
  settings: JsonTaskWorldSettings,
  readDataFile: ReadDataFile,
): Promise<OwnTasks> {
  return readTasksFile(settings.tasksFile, readDataFile, {
    ...(definition.cutLine && { cutLine: definition.cutLine }),
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
  { format }: Pick<JsonTaskWorldSettings, 'format'>,
  task: Task,
): string {
  const { system = 'You solve tasks.', user } = definition.question(task);
  return framePrompt(format, system, user);
}

/**
 * A world of the defined tasks.
 * @param own tasks of `tasksFile`, which `worldLoader` reads
 * @throws InvalidConfig if it was not read
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
  const shown = (spec: TaskSpec): TaskSpec =>
    definition.shown === undefined ? spec : canonicalJson(definition.shown(taskOf(spec)));
  const wording = settings.wording && definition.wording;
  const vote =
    settings.vote && definition.answersAgree && wording === undefined
      ? {
          ...labelVote(definition, definition.answersAgree, settings.vote),
          ...voteSolver(settings.vote.solver, settings.format, (spec, format) =>
            agentPrompt(definition, { format }, taskOf(spec)),
          ),
        }
      : undefined;
  return {
    name: definition.name,
    vocabulary: [],
    taskSchema: definition.outputSchema,
    ...(settings.repairs > 0 && {
      repairs: {
        limit: settings.repairs,
        prompt: (context: string, text: string, reason: string) =>
          repairPrompt(simulatorFormat(settings), context, text, reason),
      },
    }),
    ...(vote && { vote }),
    ...(wording && { wording: taskWording(wording, settings) }),
    baseTasks: () => [...own.base],
    heldOutTasks: () => [...own.heldOut],
    environmentPrompt: (history, seedTask) =>
      variationPrompt(settings, definition.instructions, history, { seedTask: shown(seedTask) }),
    exemplarPrompt: (history, seedTask, exemplars) =>
      variationPrompt(settings, definition.instructions, history, {
        seedTask: shown(seedTask),
        exemplars: exemplars.map(({ spec, reward }) => ({ spec: shown(spec), reward })),
      }),
    parseTask: (text) => parseJsonTask(definition, text),
    agentPrompt: (spec) => agentPrompt(definition, settings, taskOf(spec)),
    kind: (spec) => definition.kind(taskOf(spec)),
    signature: (spec) => definition.signature(taskOf(spec)),
    difficulty: (spec) => definition.difficulty(taskOf(spec)),
    difficultyUnit: definition.difficultyUnit,
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
    warmUpCorpus: (policy, rows, random) =>
      policy === 'environment'
        ? []
        : rowsInShuffledPasses(rows, random, own.base, (spec) => ({
            prompt: agentPrompt(definition, settings, taskOf(spec)),
            completion: definition.referenceAnswer(taskOf(spec)),
          })),
  };
}

/** Rows of tasks with their reference answers, in passes: each pass has every task once, in an order of its own. */
function* rowsInShuffledPasses(
  rows: number,
  random: RandomStream,
  specs: readonly TaskSpec[],
  rowOf: (spec: TaskSpec) => CorpusRow,
): Generator<CorpusRow> {
  let pass: TaskSpec[] = [];
  for (let row = 0; row < rows && specs.length > 0; row++) {
    if (pass.length === 0) pass = random.shuffle([...specs]);
    yield rowOf(pass.pop()!);
  }
}

function taskWording<Task>(
  { question, apply }: NonNullable<JsonTaskDefinition<Task>['wording']>,
  settings: JsonTaskWorldSettings,
): TaskWording {
  const server = settings.wording?.server;
  const ownFormat = server?.api === 'chat' ? 'plain' : settings.format;
  const format = server === undefined ? simulatorFormat(settings) : ownFormat;
  return {
    ...(server && {
      server: { model: server.model, temperature: server.temperature, maxTokens: server.maxTokens },
    }),
    prompt: (spec) =>
      framePrompt(format, 'You word requests of users to an assistant.', question(JSON.parse(spec) as Task)),
    apply: (spec, text) => {
      const worded = apply(JSON.parse(spec) as Task, text);
      return worded === undefined ? undefined : canonicalJson(worded);
    },
  };
}

function labelVote<Task>(
  definition: JsonTaskDefinition<Task>,
  answersAgree: NonNullable<JsonTaskDefinition<Task>['answersAgree']>,
  { votes, agreement }: { votes: number; agreement: number },
): LabelVote {
  return {
    votes,
    agreement,
    needed: () => true,
    tally: (spec, answers) => {
      const task = JSON.parse(spec) as Task;
      return tallyVotes(
        answers,
        (answer) => definition.score(task, answer).reward === 1,
        (left, right) => answersAgree(task, left, right),
      );
    },
  };
}
