import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { trailFile } from '../../test-support/armed-faults.ts';
import type { TrailLine } from '../../test-support/armed-faults.ts';

/** What the workers of a stack have done so far. */
export class Trail {
  readonly #file: string;
  readonly #lines: TrailLine[] = [];
  readonly #decoder = new StringDecoder('utf8');
  #read = 0;
  #rest = '';

  constructor(folder: string) {
    this.#file = trailFile(folder);
  }

  linesOf(run: string): TrailLine[] {
    this.#refresh();
    return this.#lines.filter((line) => line.run === run);
  }

  #refresh(): void {
    if (!existsSync(this.#file)) return;
    const file = openSync(this.#file, 'r');
    const part = Buffer.alloc(1 << 16);
    for (let length; (length = readSync(file, part, 0, part.length, this.#read)) > 0; this.#read += length)
      this.#rest += this.#decoder.write(part.subarray(0, length));
    closeSync(file);
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop()!;
    this.#lines.push(...lines.map((line) => JSON.parse(line) as TrailLine));
  }
}
