import { readTasksFile } from '../written/tasks-file.ts';
import type { OwnTasks } from '../written/tasks-file.ts';
import { agentPrompt } from './prompts.ts';
import type { LanguageSettings } from './settings.ts';
import { parseTask, taskOf } from './task.ts';

/**
 * The tasks of `world.tasksFile`; undefined where there is none.
 * @throws InvalidConfig as `readTasksFile` does
 */
export async function readOwnTasks(settings: LanguageSettings): Promise<OwnTasks | undefined> {
  return settings.tasksFile === null
    ? undefined
    : readTasksFile(settings.tasksFile, {
        parseTask: (text) => parseTask(text, settings),
        agentPrompt: (spec) => agentPrompt(taskOf(spec), settings.format),
      });
}
