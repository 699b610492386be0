import { join, resolve } from 'node:path';
import type { NightRecord, RunEpoch } from '../contracts/nights.ts';
import { appendJsonLine, readJsonLines } from './json-lines.ts';
import { checkRunId } from './run-id.ts';

/** The record of a nightly curriculum: `nightly/<name>/nights.jsonl`, a line for what each night came to. It decides what comes next. */
export class NightlyFolder {
  readonly path: string;
  readonly nightsFile: string;

  /** Makes nothing on disk. @throws InvalidConfig for a name that is no folder name */
  constructor(root: string, name: string) {
    this.path = join(resolve(root), checkRunId(name));
    this.nightsFile = join(this.path, 'nights.jsonl');
  }

  /** What can be read of the record. A night whose line is torn is closed again: its run is there, and the same comes of it. @throws StoreUnavailable */
  async nights(): Promise<NightRecord[]> {
    return readJsonLines<NightRecord>(this.nightsFile);
  }

  /** The night to be done, and what it starts from. A failed night is gone on with. @throws StoreUnavailable */
  async next(): Promise<{ night: number; standing: RunEpoch | null }> {
    const last = (await this.nights()).filter(closes).at(-1);
    return { night: (last?.night ?? 0) + 1, standing: last?.standing ?? null };
  }

  /** Closes a night once: closing it again gives the line that is there. @throws StoreUnavailable */
  async close(record: NightRecord): Promise<NightRecord> {
    const before = (await this.nights()).find((one) => closes(one) && one.night === record.night);
    if (before === undefined) await this.note(record);
    return before ?? record;
  }

  /** @throws StoreUnavailable */
  async note(record: NightRecord): Promise<void> {
    await appendJsonLine(this.nightsFile, record);
  }
}

const closes = ({ outcome }: NightRecord): boolean => outcome !== 'failed';
