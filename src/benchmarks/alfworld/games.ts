import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Case, Missing, SuiteHost } from '../suite.ts';

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
  /**
   * Commands that win it, found by a planner that sees into closed receptacles; null if the file has none.
   */
  walkthrough: readonly string[] | null;
}

const trajectory = z.object({ task_type: z.string() });
const gameFile = z.object({ solvable: z.boolean().nullish(), walkthrough: z.array(z.string()).nullish() });

/**
 * The games of a split that the official environment plays: no movable receptacles, no sliced objects, known
 * to be solvable, of the six kinds. Sorted by id, with the sha256 over their files; null if the folder does
 * not exist.
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
  // Sorted by code units: the same on every machine.
  for (const id of paths
    .filter((path) => path.endsWith('/traj_data.json'))
    .map(dirname)
    .sort()) {
    const file = join(id, 'game.tw-pddl');
    if (id.includes('movable') || id.includes('Sliced') || !present.has(file)) continue;
    const [trajectoryBytes, gameBytes] = await Promise.all([
      readFile(join(folder, id, 'traj_data.json')),
      readFile(join(folder, file)),
    ]);
    const { task_type: type } = trajectory.parse(JSON.parse(trajectoryBytes.toString('utf8')));
    const { solvable, walkthrough } = gameFile.parse(JSON.parse(gameBytes.toString('utf8')));
    if (solvable !== true || !isTaskType(type)) continue;
    hash.update(trajectoryBytes).update(gameBytes);
    games.push({ id, file: join(folder, file), taskType: type, walkthrough: walkthrough ?? null });
  }
  return { games, dataHash: hash.digest('hex') };
}

const isTaskType = (type: string): type is TaskType => (taskTypes as readonly string[]).includes(type);

/** Games that are evaluated together. */
export interface AlfworldSplit {
  name: 'own' | 'valid_seen' | 'valid_unseen';
  about: string;
  /** How many games it has; another number is another benchmark. */
  games: number;
  /** What a reader of its figures must know. */
  note: string | undefined;
}

export const alfworldSplits: readonly AlfworldSplit[] = [
  {
    name: 'own',
    about: '11 games made for this project, shipped with it: a smoke test, not the benchmark',
    games: 11,
    note: '11 games of this project: a smoke test, not the benchmark',
  },
  {
    name: 'valid_seen',
    about: 'the 140 official games in rooms of the training games',
    games: 140,
    note: undefined,
  },
  {
    name: 'valid_unseen',
    about: 'the 134 official games in rooms that training never saw',
    games: 134,
    note: undefined,
  },
];

/** The games of a split, or download instructions. */
export async function openSplit(
  { name, games: expected }: AlfworldSplit,
  { shipped, downloads }: Pick<SuiteHost, 'shipped' | 'downloads'>,
): Promise<{ games: AlfworldCase[]; dataHash: string } | Missing> {
  const folder =
    name === 'own'
      ? join(shipped, 'alfworld', 'valid_unseen')
      : join(downloads, 'alfworld', 'json_2.1.1', name);
  const read = await readGames(folder);
  if (read?.games.length === expected) return read;
  const problem =
    read === null
      ? `${folder}, which is not there`
      : `${folder}, where ${read.games.length} of ${expected} games were found`;
  if (name === 'own') return { missing: `${problem}: it comes with this project, check it out again` };
  return {
    missing: `${problem}: download json_2.1.1_json.zip (release 0.2.2) and json_2.1.2_tw-pddl.zip (release 0.4.0) from the releases of github.com/alfworld/alfworld, and unpack both in ${join(downloads, 'alfworld')}, so that each trial's folder holds traj_data.json and game.tw-pddl`,
  };
}
