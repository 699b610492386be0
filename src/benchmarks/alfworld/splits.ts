import { join } from 'node:path';
import type { Missing, SuiteHost } from '../suite.ts';
import { readGames } from './games.ts';
import type { AlfworldCase } from './games.ts';

/** Games that are evaluated together. */
export interface Split {
  name: 'own' | 'valid_seen' | 'valid_unseen';
  about: string;
  /** How many games it has; another number is another benchmark. */
  games: number;
  /** What a reader of its figures must know. */
  note: string | undefined;
}

export const splits: readonly Split[] = [
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

/** The games of a split, or what to download and where to put it. */
export async function openSplit(
  { name, games: expected }: Split,
  { shipped, downloads }: Pick<SuiteHost, 'shipped' | 'downloads'>,
): Promise<{ games: AlfworldCase[]; dataHash: string } | Missing> {
  const folder =
    name === 'own'
      ? join(shipped, 'alfworld', 'valid_unseen')
      : join(downloads, 'alfworld', 'json_2.1.1', name);
  const read = await readGames(folder);
  if (read?.games.length === expected) return read;
  const found =
    read === null
      ? `${folder}, which is not there`
      : `${folder}, where ${read.games.length} of ${expected} games were found`;
  if (name === 'own') return { missing: `${found}: it comes with this project, check it out again` };
  return {
    missing: `${found}: download json_2.1.1_json.zip (release 0.2.2) and json_2.1.2_tw-pddl.zip (release 0.4.0) from the releases of github.com/alfworld/alfworld, and unpack both in ${join(downloads, 'alfworld')}, so that each trial's folder holds traj_data.json and game.tw-pddl`,
  };
}
