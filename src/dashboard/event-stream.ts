import type { ServerResponse } from 'node:http';
import type { ChangeEvent } from './api.ts';
import type { ResultsPages } from './results-pages.ts';
import type { RunPages } from './run-pages.ts';

const LOOK_MS = 1_000;

/**
 * Tells open pages which runs and comparisons have changed, by server-sent events. It looks at the files only while
 * pages listen.
 */
export class EventStream {
  readonly #runs: RunPages;
  readonly #results: ResultsPages;
  readonly #listeners = new Set<ServerResponse>();
  readonly #runChanges = new Changes();
  readonly #comparisonChanges = new Changes();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(runs: RunPages, results: ResultsPages) {
    this.#runs = runs;
    this.#results = results;
  }

  /** Answers a request with events until its page goes away. */
  listen(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'keep-alive' });
    response.write(': hello\n\n');
    this.#listeners.add(response);
    response.on('close', () => {
      this.#listeners.delete(response);
      if (this.#listeners.size === 0) this.close();
    });
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A tick goes out each time, so that pages ask again for what no file says: phases that are under way. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const folders = await this.#runs.folders();
      const runs = this.#runChanges.changedIds(
        await Promise.all(
          folders.map(async (folder) => [folder.id, await this.#runs.stamp(folder)] as const),
        ),
      );
      const comparisons = this.#comparisonChanges.changedIds(await this.#results.comparisonStamps());
      if (runs.length + comparisons.length > 0) this.#send('change', { runs, comparisons });
      this.#send('tick', {});
    } catch {
      // A disk that is away for a moment: the next look finds what has changed.
    } finally {
      this.#isLooking = false;
    }
  }

  #send(event: 'change' | 'tick', data: ChangeEvent | object): void {
    for (const listener of this.#listeners)
      listener.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

/** Which of some things have changed, by their stamps. */
class Changes {
  #stamps: ReadonlyMap<string, string> = new Map();

  /** Ids whose stamp is another one than at the last look; all at the first: a page may have read them before it. */
  changedIds(stamps: readonly (readonly [id: string, stamp: string])[]): string[] {
    const before = this.#stamps;
    this.#stamps = new Map(stamps);
    return stamps.filter(([id, stamp]) => before.get(id) !== stamp).map(([id]) => id);
  }
}
