import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Case } from '../suite.ts';

/** The kinds of tasks, in the official order. */
export const taskTypes = [
  'pick_and_place_simple',
  'look_at_obj_in_light',
  'pick_clean_then_place_in_recep',
  'pick_heat_then_place_in_recep',
  'pick_cool_then_place_in_recep',
  'pick_two_obj_and_place',
] as const;
export type TaskType = (typeof taskTypes)[number];

/** A game. Its id is `<task>/<trial>`, as the official folders have it. */
export interface AlfworldCase extends Case {
  /** Path of its `game.tw-pddl`. */
  file: string;
  taskType: TaskType;
  /** Commands that win it, as the planner found them, which sees what is in closed receptacles; null where the file has none. */
  walkthrough: readonly string[] | null;
}

const trajectory = z.object({ task_type: z.string() });
const gameFile = z.object({ solvable: z.boolean().nullish(), walkthrough: z.array(z.string()).nullish() });

/**
 * The games of a split that the official environment plays: no movable receptacles, no sliced objects, known to be solvable, of the six kinds.
 * In the order of their ids, with the sha256 over the files that say so; null where there is no such folder.
 */
export async function readGames(folder: string): Promise<{ games: AlfworldCase[]; dataHash: string } | null> {
  const paths = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (paths === null) return null;
  const present = new Set(paths);
  const hash = createHash('sha256');
  const games: AlfworldCase[] = [];
  // By code units: the same on every machine.
  for (const id of paths
    .filter((path) => path.endsWith('/traj_data.json'))
    .map(dirname)
    .sort()) {
    const file = join(id, 'game.tw-pddl');
    if (id.includes('movable') || id.includes('Sliced') || !present.has(file)) continue;
    const [ofTask, ofGame] = await Promise.all([
      readFile(join(folder, id, 'traj_data.json')),
      readFile(join(folder, file)),
    ]);
    const { task_type: type } = trajectory.parse(JSON.parse(ofTask.toString('utf8')));
    const { solvable, walkthrough } = gameFile.parse(JSON.parse(ofGame.toString('utf8')));
    if (solvable !== true || !isTaskType(type)) continue;
    hash.update(ofTask).update(ofGame);
    games.push({ id, file: join(folder, file), taskType: type, walkthrough: walkthrough ?? null });
  }
  return { games, dataHash: hash.digest('hex') };
}

const isTaskType = (type: string): type is TaskType => (taskTypes as readonly string[]).includes(type);
