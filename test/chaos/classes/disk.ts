import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { FaultClass } from '../fault-class.ts';
import type { Scene } from '../scene.ts';

const row = 'disk full, read-only folder';

/**
 * A small file system of its own for a part of the run's files. @returns why not, where mounting is not
 * permitted
 */
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

const someFolder = (scene: Scene): string =>
  scene.random.pick([scene.stack.path('runs', scene.id), scene.stack.path('store', 'keys', scene.id)]);

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

/** Appends to a file until its disk is full. */
function fill(file: string): void {
  try {
    appendFileSync(file, Buffer.alloc(2 << 20, '\n'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

const allowed = { requests: 8, steps: 2, activities: 20 };

/** A class of faults of a small disk that one of the run's folders lies on. */
const ofDisk = (
  name: string,
  disturb: (scene: Scene, folder: string) => Promise<() => Promise<void>>,
): FaultClass => ({
  name,
  row,
  async inject(scene) {
    const folder = someFolder(scene);
    const skipped = smallDisk(scene, folder);
    if (skipped !== undefined) return { back: 0, skipped };
    await scene.begin();
    await scene.anyMoment();
    const mend = await disturb(scene, folder);
    await scene.pause(1_000 + scene.random.int(3_000));
    await mend();
    return { back: Date.now(), allowed };
  },
});

export const diskClasses: FaultClass[] = [
  ofDisk('disk full', (_, folder) => {
    const filler = join(folder, 'filler');
    fill(filler);
    return Promise.resolve(() => rm(filler, { force: true }));
  }),
  ofDisk('folder read-only', async (scene, folder) => {
    await remount(scene, folder, 'ro');
    return () => remount(scene, folder, 'rw');
  }),
  {
    name: 'disk of the logs full',
    row,
    selected: true,
    async inject(scene) {
      const { live } = scene.stack;
      const service = scene.random.pick(['policy', 'trainer'] as const);
      const folder = scene.stack.path('logs');
      // When the disk is gone.
      scene.afterwards(async () => {
        if (live.logs === undefined) return;
        live.logs = undefined;
        await restart(scene, service);
      });
      const skipped = smallDisk(scene, folder);
      if (skipped !== undefined) return { back: 0, skipped };
      live.logs = folder;
      await restart(scene, service);
      const filler = join(folder, 'filler');
      fill(filler);
      // The last block of each log has room left.
      for (const log of readdirSync(folder)) fill(join(folder, log));
      const processes = { worker: scene.worker, [service]: live[service] };
      scene.expect(() =>
        Object.entries(processes)
          .filter(([, { alive }]) => !alive)
          .map(([name]) => `a full disk of logs has ended the ${name}`),
      );
      await scene.begin();
      await scene.anyMoment();
      // Everybody has something to say.
      await live.temporal.stop('SIGKILL');
      await scene.pause(2_000 + scene.random.int(4_000));
      live.startTemporal();
      await live.connect();
      if (scene.random.int(2) === 0) await rm(filler);
      return { back: Date.now(), allowed: { activities: 2 } };
    },
  },
];

/** Starts the worker and a service anew. */
async function restart(scene: Scene, service: 'policy' | 'trainer'): Promise<void> {
  const { live } = scene.stack;
  await Promise.all([scene.worker.stop(), live[service].stop()]);
  await scene.stack.ready();
}
