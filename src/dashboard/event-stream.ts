import type { ServerResponse } from 'node:http';
import type { ChangeEvent } from './api.ts';
import type { RunPages } from './run-pages.ts';

const LOOK_MS = 1_000;

/** Tells open pages which runs have changed, by server-sent events. It looks at the files only while pages listen. */
export class EventStream {
  readonly #pages: RunPages;
  readonly #listeners = new Set<ServerResponse>();
  #stamps = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(pages: RunPages) {
    this.#pages = pages;
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
      const folders = await this.#pages.folders();
      const stamps = new Map(
        await Promise.all(
          folders.map(async (folder) => [folder.id, await this.#pages.stamp(folder)] as const),
        ),
      );
      const isFirst = this.#stamps.size === 0;
      const runs = [...stamps].filter(([id, stamp]) => this.#stamps.get(id) !== stamp).map(([id]) => id);
      this.#stamps = stamps;
      if (runs.length > 0 && !isFirst) this.#send('change', { runs });
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
