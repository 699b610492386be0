import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  contaminationMessage,
  findContamination,
} from '../../benchmarks/contamination/find-contamination.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
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
  { parseTask, agentPrompt, schemaProblem: fault }: TasksReader,
): Promise<OwnTasks> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new InvalidConfig(
      `experiment: world.tasksFile.path: got ${JSON.stringify(path)}; ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== null && hash !== sha256)
    throw new InvalidConfig(`experiment: world.tasksFile.sha256: got ${sha256}; ${path} has ${hash}`);
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .map((text, index) => ({ text: text.trim(), number: index + 1 }))
    .filter(({ text }) => text !== '');
  const specs = lines.map(({ text, number }) => {
    const got = `experiment: world.tasksFile.path: ${path} line ${number}: got ${text.slice(0, 80)}`;
    const parsed = parseTask(text);
    if (!parsed.valid)
      throw new InvalidConfig(
        `${got}; it is no task (${[parsed.reason, fault?.(text)].filter((part) => part !== undefined).join(': ')})`,
      );
    const question = findContamination(text) ?? findContamination(agentPrompt(parsed.spec));
    if (question !== null) throw new InvalidConfig(`${got}; ${contaminationMessage(question)}`);
    return parsed.spec;
  });
  const order = randomStream(deriveSeed(0, 'tasks-file')).shuffle([...new Set(specs)]);
  const count = Math.max(1, Math.round(share * order.length));
  if (order.length - count < 1)
    throw new InvalidConfig(
      `experiment: world.tasksFile.path: ${path} has ${order.length} distinct tasks; expected at least 2, one to vary and one held out`,
    );
  return { base: order.slice(count), heldOut: order.slice(0, count) };
}
