import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RunFolder } from '../../src/runs/run-folder.ts';
import type { LedgerLine } from '../../src/store/ledger-chain.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import type { FileRef, FolderRef } from '../../src/store/references.ts';
import { temporaryFolder } from './temporary-folder.ts';

export type Epoch = { checkpoint: FolderRef; trainerState: FolderRef; traces: FileRef };

/**
 * A store, and runs whose every epoch has a checkpoint, a trainer state and traces of its own.
 * @param share called with the home folder first
 */
export async function someStore(share: (home: string) => void = () => undefined) {
  const root = await temporaryFolder();
  share(root);
  const store = new ObjectStore(join(root, 'store'));

  async function folder(text: string): Promise<FolderRef> {
    const source = join(root, 'source');
    await mkdir(source, { recursive: true });
    await writeFile(join(source, 'model.safetensors'), text.padEnd(1000));
    const ref = await store.putFolder(source);
    await rm(source, { recursive: true });
    return ref;
  }

  async function epochObjects(name: string): Promise<Epoch> {
    return {
      checkpoint: await folder(`weights ${name}`),
      trainerState: await folder(`moments ${name}`),
      traces: await store.putRecords([{ trace: name }]),
    };
  }

  /** Commits epochs 0 to `epochs` - 1 with these scores; each line has the checkpoint before as its input. */
  async function someRun(
    id: string,
    epochs: number,
    score: (epoch: number) => number = () => 0,
    objects: (epoch: number) => Promise<Epoch> = (epoch) => epochObjects(`${id} ${epoch}`),
  ) {
    const run = new RunFolder(join(root, 'runs'), id);
    const ledger = run.ledger(await run.writeExperiment({ id_is_not_here: id }));
    const made: Epoch[] = [];
    for (let epoch = 0; epoch < epochs; epoch += 1) {
      const { checkpoint, trainerState, traces } = await objects(epoch);
      const line: Omit<LedgerLine, 'previous'> = {
        epoch,
        inputs: { agent: { checkpoint: made.at(-1)?.checkpoint ?? null } },
        outputs: { agent: { checkpoint, trainer_state: trainerState }, traces: [traces] },
        metrics: { 'eval/heldout': score(epoch) },
      };
      await ledger.append(line);
      made.push({ checkpoint, trainerState, traces });
    }
    return { run, ledger, epochs: made };
  }

  return { root, store, folder, epochObjects, someRun };
}
