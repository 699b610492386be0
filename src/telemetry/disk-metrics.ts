import { statfs } from 'node:fs/promises';
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/** Measures at each scrape how much room there is in folders; one that cannot be read is left out. */
export function measureDisks(registry: Registry, folders: Readonly<Record<string, string>>): void {
  const definition = { labelNames: ['folder'], registers: [registry] };
  const size = new Gauge({
    ...definition,
    name: 'genenv_disk_size_bytes',
    help: 'Size of the file system that a folder (store or runs) is on.',
  });
  new Gauge({
    ...definition,
    name: 'genenv_disk_free_bytes',
    help: 'Room left for this user in the file system that a folder (store or runs) is on.',
    async collect() {
      for (const [folder, path] of Object.entries(folders)) {
        const disk = await statfs(path).catch(() => undefined);
        if (disk === undefined) {
          size.remove({ folder });
          this.remove({ folder });
          continue;
        }
        size.set({ folder }, disk.blocks * disk.bsize);
        this.set({ folder }, disk.bavail * disk.bsize);
      }
    },
  });
}
