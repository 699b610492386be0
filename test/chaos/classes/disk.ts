import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultClass } from '../fault-class.ts';
import type { Scene } from '../scene.ts';

const row = 'disk full, read-only folder';

/** A small file system of its own for a part of the run's files. @returns why not, where mounting is not permitted */
function smallDisk(scene: Scene, folder: string): string | undefined {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return 'no right to mount a tmpfs';
  }
  scene.afterwards(() => Promise.resolve(void execFileSync('umount', ['-l', folder])));
  return undefined;
}

const someFolder = (scene: Scene): string => scene.random.pick([scene.stack.path('runs', scene.id), scene.stack.path('store', 'keys', scene.id)]);

/** Until the file system takes it: one that is being written to at this moment refuses. */
async function remount(scene: Scene, folder: string, how: 'ro' | 'rw'): Promise<void> {
  for (;;) {
    try {
      execFileSync('mount', ['-o', `remount,${how}`, folder], { stdio: 'pipe' });
      return;
    } catch {
      await scene.pause(20);
    }
  }
}

function fill(file: string): void {
  try {
    writeFileSync(file, Buffer.alloc(2 << 20));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

const allowed = { requests: 8, steps: 2, activities: 20 };

export const diskClasses: FaultClass[] = [
  {
    name: 'disk full',
    row,
    async inject(scene) {
      const folder = someFolder(scene);
      const skipped = smallDisk(scene, folder);
      if (skipped !== undefined) return { back: 0, skipped };
      await scene.begin();
      await scene.anyMoment();
      const filler = join(folder, 'filler');
      fill(filler);
      await scene.pause(1_000 + scene.random.int(3_000));
      rmSync(filler, { force: true });
      return { back: Date.now(), allowed };
    },
  },
  {
    name: 'folder read-only',
    row,
    async inject(scene) {
      const folder = someFolder(scene);
      const skipped = smallDisk(scene, folder);
      if (skipped !== undefined) return { back: 0, skipped };
      await scene.begin();
      await scene.anyMoment();
      await remount(scene, folder, 'ro');
      await scene.pause(1_000 + scene.random.int(3_000));
      await remount(scene, folder, 'rw');
      return { back: Date.now(), allowed };
    },
  },
];
