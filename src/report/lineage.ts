import { dirname } from 'node:path';
import { RunFolder } from '../store/run-folder.ts';

/** A run and an epoch of it that another was forked from. */
export interface Ancestor {
  run: string;
  epoch: number;
}

/** What a run was forked from, its parent first; as far as the folders of its ancestors are there. @throws InvalidArtifact */
export async function lineage(folder: RunFolder): Promise<Ancestor[]> {
  const ancestors: Ancestor[] = [];
  const seen = new Set<string>();
  for (let at = folder; !seen.has(at.id);) {
    seen.add(at.id);
    const fork = await at.readFork();
    if (fork === undefined) break;
    ancestors.push({ run: fork.run, epoch: fork.epoch });
    at = new RunFolder(dirname(at.path), fork.run);
  }
  return ancestors;
}

export const lineageText = (ancestors: readonly Ancestor[]): string =>
  ancestors.map(({ run, epoch }) => `forked from ${run} at epoch ${epoch}`).join(', which was ');

/** `difficulty.alpha = 0.4, epochs = 120` */
export const settingsText = (set: Record<string, unknown>): string =>
  Object.entries(set)
    .map(([field, value]) => `${field} = ${JSON.stringify(value)}`)
    .join(', ');
