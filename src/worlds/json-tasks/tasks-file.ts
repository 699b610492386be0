import { createHash } from 'node:crypto';
import {
  contaminationMessage,
  findTaskContamination,
} from '../../benchmarks/contamination/find-contamination.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import type { ReadDataFile } from '../../store/data-files.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { ParsedTask, TaskSpec } from '../world.ts';
import type { TasksFile } from './settings.ts';

/** A user's tasks, split. */
export interface OwnTasks {
  base: readonly TaskSpec[];
  heldOut: readonly TaskSpec[];
}

/** The tasks that a line was cut into, each with its place in the line. */
export type LineTasks = { text: string; place: string }[] | { problem: string };

export interface TasksReader {
  /** Cuts a line into the texts of tasks; absent if a line is a task. */
  cutLine?: (text: string) => LineTasks;
  parseTask: (text: string) => ParsedTask;
  /** The agent's prompt for a task, which may word the line differently. */
  agentPrompt: (spec: TaskSpec) => string;
  /** Where a line does not fit the schema, in words; undefined if it does. */
  schemaProblem?: (text: string) => string | undefined;
}

/**
 * Reads the distinct tasks of `world.tasksFile` and splits its lines by a fixed seed: the same split in every run.
 * @throws InvalidConfig for a file that is missing, has another hash, holds an invalid task or a benchmark's
 * question, or has too few tasks to split
 */
export async function readTasksFile(
  { path, sha256, heldOut: share }: TasksFile,
  readDataFile: ReadDataFile,
  reader: TasksReader,
): Promise<OwnTasks> {
  const bytes = await readDataFile('world.tasksFile.path', path);
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== null && hash !== sha256)
    throw new InvalidConfig(`experiment: world.tasksFile.sha256: got ${sha256}; ${path} has another`);
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .map((text, index) => ({ text: text.trim(), number: index + 1 }))
    .filter(({ text }) => text !== '');
  const groups = new Map<string, TaskSpec[]>();
  const problems: string[] = [];
  for (const { text, number } of lines) {
    const line = readLine(text, reader);
    if (line.specs.length > 0) groups.set(JSON.stringify(line.specs), line.specs);
    problems.push(...line.problems.map((problem) => `line ${number}: ${problem}`));
  }
  if (problems.length > 0) throw new InvalidConfig(problemsText(path, problems));
  // What was cut from one line stays together: a prompt shows the labels of the tasks before it.
  const order = randomStream(deriveSeed(0, 'tasks-file')).shuffle([...groups.values()]);
  const count = Math.min(order.length - 1, Math.max(1, Math.round(share * order.length)));
  const split = splitGroups(order, count);
  if (split.heldOut.length === 0)
    throw new InvalidConfig(
      `experiment: world.tasksFile.path: ${path} has ${order.length} distinct ${reader.cutLine ? 'traces' : 'tasks'}; ` +
        'expected at least 2, one to vary and one held out' +
        (reader.cutLine ? ' with an action that no other has' : ''),
    );
  return split;
}

/**
 * Holds the first groups out, as many as are wanted. A task that a base group has too is a base task, since that
 * group's prompts show its label; a group without a task of its own is passed over.
 * @param wanted less than there are groups
 */
function splitGroups(groups: readonly TaskSpec[][], wanted: number): OwnTasks {
  const baseUses = new Map<TaskSpec, number>();
  const uses = (spec: TaskSpec): number => baseUses.get(spec) ?? 0;
  const distinct = groups.map((group) => [...new Set(group)]);
  for (const spec of distinct.flat()) baseUses.set(spec, uses(spec) + 1);
  let count = 0;
  for (const group of distinct) {
    if (count === wanted) break;
    if (group.every((spec) => uses(spec) > 1)) continue;
    for (const spec of group) baseUses.set(spec, uses(spec) - 1);
    count += 1;
  }
  const specs = [...baseUses.keys()];
  return {
    base: specs.filter((spec) => uses(spec) > 0),
    heldOut: specs.filter((spec) => uses(spec) === 0),
  };
}

interface ReadLine {
  specs: TaskSpec[];
  problems: string[];
}

function readLine(text: string, reader: TasksReader): ReadLine {
  if (reader.cutLine === undefined) {
    const { spec, problem } = readTask(text, reader);
    return { specs: spec === undefined ? [] : [spec], problems: problem === undefined ? [] : [problem] };
  }
  const parts = reader.cutLine(text);
  if ('problem' in parts) return { specs: [], problems: [parts.problem] };
  const read: ReadLine = { specs: [], problems: [] };
  for (const part of parts) {
    const { spec, problem } = readTask(part.text, reader);
    if (spec !== undefined) read.specs.push(spec);
    if (problem !== undefined) read.problems.push(`${part.place}: ${problem}`);
  }
  return read;
}

function readTask(
  text: string,
  { parseTask, agentPrompt, schemaProblem }: TasksReader,
): { spec?: TaskSpec; problem?: string } {
  const parsed = parseTask(text);
  if (!parsed.valid) {
    const reasons = [parsed.reason, schemaProblem?.(text)].filter((part) => part !== undefined);
    return { problem: `it is no task (${reasons.join(': ')})` };
  }
  const question = findTaskContamination(text, agentPrompt(parsed.spec));
  return question === null ? { spec: parsed.spec } : { problem: contaminationMessage(question) };
}

const maxProblems = 10;

function problemsText(path: string, problems: readonly string[]): string {
  const more = problems.length - maxProblems;
  return [
    `experiment: world.tasksFile.path: ${path} ${problems[0]}`,
    ...problems.slice(1, maxProblems),
    ...(more > 0 ? [`and ${more} more lines`] : []),
  ].join('\n');
}
