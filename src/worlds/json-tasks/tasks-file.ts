import { createHash } from 'node:crypto';
import {
  contaminationMessage,
  findContamination,
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

export interface TasksReader {
  parseTask: (text: string) => ParsedTask;
  /** The agent's prompt for a task, which may word the line differently. */
  agentPrompt: (spec: TaskSpec) => string;
  /** Where a line does not fit the schema, in words; undefined if it does. */
  schemaProblem?: (text: string) => string | undefined;
}

/**
 * Reads the distinct tasks of `world.tasksFile` and splits them by a fixed seed: the same split in every run.
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
  const specs: TaskSpec[] = [];
  const problems: string[] = [];
  for (const { text, number } of lines) {
    const line = readLine(text, reader);
    if ('spec' in line) specs.push(line.spec);
    else problems.push(`line ${number}: ${line.problem}`);
  }
  if (problems.length > 0) throw new InvalidConfig(problemsText(path, problems));
  const order = randomStream(deriveSeed(0, 'tasks-file')).shuffle([...new Set(specs)]);
  const count = Math.max(1, Math.round(share * order.length));
  if (order.length - count < 1)
    throw new InvalidConfig(
      `experiment: world.tasksFile.path: ${path} has ${order.length} distinct tasks; expected at least 2, one to vary and one held out`,
    );
  return { base: order.slice(count), heldOut: order.slice(0, count) };
}

function readLine(
  text: string,
  { parseTask, agentPrompt, schemaProblem }: TasksReader,
): { spec: TaskSpec } | { problem: string } {
  const parsed = parseTask(text);
  if (!parsed.valid) {
    const reasons = [parsed.reason, schemaProblem?.(text)].filter((part) => part !== undefined);
    return { problem: `it is no task (${reasons.join(': ')})` };
  }
  const question = findContamination(text) ?? findContamination(agentPrompt(parsed.spec));
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
