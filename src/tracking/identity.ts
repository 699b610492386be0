/** What a run is called at every tracker, whoever sends it: a function of home, run and rewinds alone. */
import { dirname, join } from 'node:path';
import { branchNames } from '../runs/cut-ledger.ts';
import { ComparisonFolder } from '../runs/result-folders.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import { RunFolder as Folder } from '../runs/run-folder.ts';
import { lineage } from '../runs/run-overview.ts';
import { hashOf } from '../store/canonical-json.ts';

export interface TrackedFork {
  key: string;
  run: string;
  epoch: number;
  /** Hash of that epoch's line in the ledger. */
  ledger: string;
}

export interface Identity {
  key: string;
  /** Shared by a run, its forks and its rewinds. */
  group: string;
  fork: TrackedFork | null;
  /** Key of this run before its last rewind. */
  supersedes: string | null;
}

/** Name of a home folder: eight hexadecimal digits, which it gets when it is first asked. @throws StoreUnavailable */
export const nameHome = async (home: string): Promise<string> =>
  (await new ComparisonFolder(join(home, 'comparisons'), 'origin').origin()).home;

const keyOf = (home: string, run: string, cuts: number): string =>
  `${home}-${run}${cuts === 0 ? '' : `-rewind-${cuts}`}`;

/**
 * The identity of a run whose ledger has been cut that often. A cut drops steps, which no tracker takes back: what
 * follows is another run there, with the whole history of the ledger.
 * @throws InvalidArtifact
 */
export async function identify(run: RunFolder, home: string, cuts: number): Promise<Identity> {
  const ancestors = await lineage(run);
  const fork = await run.readFork();
  const root = ancestors.at(-1)?.run ?? run.id;
  return {
    key: keyOf(home, run.id, cuts),
    group: keyOf(home, root, 0),
    fork:
      fork === undefined
        ? null
        : {
            key: keyOf(home, fork.run, await countCuts(new Folder(dirname(run.path), fork.run))),
            run: fork.run,
            epoch: fork.epoch,
            ledger: hashOf(fork.line),
          },
    supersedes: cuts === 0 ? null : keyOf(home, run.id, cuts - 1),
  };
}

/** How often a run's ledger was cut, by a rewind or because its end was damaged. @throws InvalidArtifact */
export const countCuts = async (run: RunFolder): Promise<number> =>
  (await branchNames(run.branchesFolder)).length;
