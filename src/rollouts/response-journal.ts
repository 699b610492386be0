import { sha256 } from '../store/canonical-json.ts';
import type { OnDamage } from '../store/errors.ts';
import type { Journal } from '../store/journal.ts';

/** A line of the journal. Lines of earlier versions are the response alone. */
type ResponseEntry<Response> = { request_hash: string; response: Response };
export type ResponseLine<Response> = ResponseEntry<Response> | Response;

/**
 * Recorded responses, each with the hash of its request, in the order in which they were sent. A worker of another
 * version may send other requests than those before it, and a write that was held up may repeat a line: what
 * follows from the first line of another request is cut, and requested again.
 */
export class ResponseJournal<Response> {
  readonly #journal: Journal<ResponseLine<Response>>;
  readonly #onDamage: OnDamage;
  #next = 0;

  constructor(journal: Journal<ResponseLine<Response>>, onDamage: OnDamage) {
    this.#journal = journal;
    this.#onDamage = onDamage;
  }

  /** The file, absolute. */
  get path(): string {
    return this.#journal.path;
  }

  /** The next recorded response; undefined if there is none, or if it is that of another request. */
  async take(request: unknown): Promise<Response | undefined> {
    const { entries } = this.#journal;
    if (entries.length === 0) return undefined;
    const line = entries[0]!;
    const entry = isEntry(line) ? line : { request_hash: undefined, response: line };
    if (entry.request_hash !== undefined && entry.request_hash !== requestHash(request)) {
      const problem = `line ${this.#next + 1} answers another request; it and what follows is cut and done again`;
      this.#onDamage({ file: this.path, problem });
      await this.#journal.cutFrom(this.#next);
      entries.length = 0;
      return undefined;
    }
    // Those that were taken need no memory any more.
    entries.shift();
    this.#next += 1;
    return entry.response;
  }

  /** @throws as `Journal.append` */
  async append(request: unknown, response: Response): Promise<void> {
    await this.#journal.append({ request_hash: requestHash(request), response });
  }
}

const isEntry = <Response>(line: ResponseLine<Response>): line is ResponseEntry<Response> =>
  typeof line === 'object' && line !== null && 'request_hash' in line;

/** Of what is sent: a field that is undefined is not. */
const requestHash = (request: unknown): string => sha256(JSON.stringify(request));
