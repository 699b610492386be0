import { historyView } from '../report/history-view.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import type { FamilyMember } from './api.ts';

/** Runs in a tree that a page shows. */
const MAX_MEMBERS = 200;
/** Events that its tree shows. */
const shownTypes = new Set(['started', 'resumed', 'moved', 'rewound', 'retuned', 'ended', 'quota']);

interface Relation {
  folder: RunFolder;
  parent: string | null;
  fromEpoch: number | null;
}

/** The run that a run descends from, with all forks of it, and of those. */
export async function familyOf(folder: RunFolder, folders: readonly RunFolder[]): Promise<FamilyMember> {
  const relations = new Map(
    (await Promise.all(folders.map(relationOf))).map((relation) => [relation.folder.id, relation]),
  );
  const rootId = rootOf(folder.id, relations);
  const shown = new Set<string>();
  const member = async (id: string): Promise<FamilyMember> => {
    shown.add(id);
    const relation = relations.get(id);
    const forks = [...relations.values()].filter(
      ({ parent, folder: fork }) => parent === id && !shown.has(fork.id) && shown.size < MAX_MEMBERS,
    );
    return {
      run: id,
      fromEpoch: relation?.fromEpoch ?? null,
      ...(await courseOf(relation?.folder)),
      forks: await Promise.all(forks.map((fork) => member(fork.folder.id))),
    };
  };
  return member(rootId);
}

async function relationOf(folder: RunFolder): Promise<Relation> {
  const fork = await folder.readFork().catch(() => undefined);
  return { folder, parent: fork?.run ?? null, fromEpoch: fork?.epoch ?? null };
}

function rootOf(id: string, relations: ReadonlyMap<string, Relation>): string {
  const seen = new Set<string>();
  let root = id;
  for (let parent = relations.get(root)?.parent; parent && !seen.has(parent);) {
    seen.add(parent);
    root = parent;
    parent = relations.get(root)?.parent;
  }
  return root;
}

async function courseOf(folder: RunFolder | undefined): Promise<Pick<FamilyMember, 'epoch' | 'turns'>> {
  if (folder === undefined) return { epoch: 0, turns: [] };
  const [events, last] = await Promise.all([
    folder.events().catch(() => []),
    folder.lastMetrics().catch(() => undefined),
  ]);
  const turns = events
    .filter(({ type }) => shownTypes.has(type))
    .map(({ time, at, ...event }) => ({ ...event, at: at ?? time ?? '' }));
  return {
    epoch: last?.epoch ?? 0,
    turns: historyView({ events: turns, rows: [], retunes: [] }).turns.map(({ at, type, epoch, text }) => ({
      at,
      type,
      epoch,
      text,
    })),
  };
}
