import { fileURLToPath } from 'node:url';
import { worldLoader } from '../../src/worlds/registry.ts';
import { worldSettings } from '../../src/worlds/settings.ts';
import type { World } from '../../src/worlds/world.ts';

export const tasksOf = (world: string): string =>
  fileURLToPath(new URL(`../../experiments/tasks/${world}.jsonl`, import.meta.url));

export const loaded = (settings: object): Promise<World> =>
  worldLoader(undefined, ['/'])(worldSettings.parse(settings));

/** The world of its own tasks in experiments/tasks/. */
export const shippedWorld = (type: 'calls' | 'travel', rest: object = {}): Promise<World> =>
  loaded({ type, tasksFile: { path: tasksOf(type) }, ...rest });

export function reasonOf(world: World, task: unknown): string {
  const parsed = world.parseTask(typeof task === 'string' ? task : JSON.stringify(task));
  return parsed.valid ? 'valid' : parsed.reason;
}

export function specOf(world: World, task: unknown): string {
  const parsed = world.parseTask(JSON.stringify(task));
  if (!parsed.valid) throw new Error(`${parsed.reason}: ${JSON.stringify(task)}`);
  return parsed.spec;
}
