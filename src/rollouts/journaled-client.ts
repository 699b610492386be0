/**
 * Requests whose responses survive the process: the unit of storage and retry of every phase that samples.
 */
import { join } from 'node:path';
import { ServerProblem } from '../inference/policy-client.ts';
import type { ActivityContext } from '../runtime/activity-context.ts';
import type { HasActivityContext, PhaseStorage } from '../runtime/dependencies.ts';
import type { Phase } from '../runtime/run-once.ts';
import { Journal } from '../store/journal.ts';
import type { JournalOptions } from '../store/journal.ts';
import { ResponseJournal } from './response-journal.ts';
import type { ResponseLine } from './response-journal.ts';

/** Tokens of all responses, recorded ones included, and failed requests over all attempts at the phase. */
export interface SamplingUsage {
  /** Sampled. */
  tokens: number;
  /** Read by the server; those of one prompt count once for all its samples. */
  promptTokens: number;
  retried: number;
}

export interface JournaledClientOptions<Request, Response> {
  /** File name of the journal of responses. */
  responses: string;
  /** File name of the journal of failed requests; if absent, they are not counted. */
  failures?: string;
  send: (request: Request, signal: AbortSignal) => Promise<Response>;
  /** Tokens of a response, for `usage`; 0 if absent. */
  countTokens?: (response: Response) => number;
  /** Tokens that were read for a response, for `usage`; 0 if absent. */
  countPromptTokens?: (response: Response) => number;
  /** Details of the heartbeat after a response was recorded; if absent, the caller heartbeats. */
  heartbeatDetails?: (progress: ClientProgress<Response>) => unknown;
}

export interface ClientProgress<Response> {
  response: Response;
  /** Requests completed so far, recorded ones included. */
  completed: number;
  /** Since the last heartbeat, or since the client was opened. */
  milliseconds: number;
}

/** A request that failed and was sent again, or will be. */
interface FailedRequest {
  request: number;
  error: string;
}

/**
 * A client whose responses survive the process: each is on disk before the next request is sent, and a retry
 * of the phase gets the recorded ones first. So requests must follow from the phase's input and from earlier
 * responses alone, and come one after another: a retry makes the same ones in the same order. From the first one
 * that differs on, responses are requested anew. Once a newer attempt has claimed the work folder, this one can
 * record nothing more.
 */
export class JournaledClient<Request, Response> implements AsyncDisposable {
  readonly usage: SamplingUsage = { tokens: 0, promptTokens: 0, retried: 0 };
  readonly #context: ActivityContext;
  readonly #options: JournaledClientOptions<Request, Response>;
  readonly #journals: WorkJournals;
  readonly #responses: ResponseJournal<Response>;
  #failures: Journal<FailedRequest> | undefined;
  #completed = 0;
  /** Responses to this attempt. */
  #answered = 0;
  #lastHeartbeatAt = Date.now();

  private constructor(
    context: ActivityContext,
    options: JournaledClientOptions<Request, Response>,
    journals: WorkJournals,
    responses: ResponseJournal<Response>,
  ) {
    this.#context = context;
    this.#options = options;
    this.#journals = journals;
    this.#responses = responses;
  }

  /** Claims the phase's work folder and reads what is recorded there. @throws StoreUnavailable, Superseded */
  static async open<Request, Response>(
    { activityContext, onDamage }: HasActivityContext & Pick<PhaseStorage, 'onDamage'>,
    work: Phase['work'],
    options: JournaledClientOptions<Request, Response>,
  ): Promise<JournaledClient<Request, Response>> {
    const journals = await WorkJournals.claim(work, onDamage);
    const responses = await journals.openResponses<Response>(options.responses);
    const client = new JournaledClient(activityContext(), options, journals, responses);
    if (options.failures !== undefined) {
      client.#failures = await journals.open<FailedRequest>(options.failures);
      client.usage.retried = client.#failures.entries.length;
    }
    return client;
  }

  /** The file of recorded responses, absolute. */
  get path(): string {
    return this.#responses.path;
  }

  /**
   * The recorded response of this request, or that of sending it. After an error the same request may be sent
   * again.
   * @throws what `send` throws, Superseded, StoreUnavailable; the signal's reason if it is aborted
   */
  async complete(request: Request): Promise<Response> {
    const response = (await this.#responses.take(request)) ?? (await this.#sendAndRecord(request));
    this.#completed += 1;
    this.usage.tokens += this.#options.countTokens?.(response) ?? 0;
    this.usage.promptTokens += this.#options.countPromptTokens?.(response) ?? 0;
    return response;
  }

  /**
   * As `complete`, for requests of another kind, whose responses have a journal of their own. They are in no
   * count of tokens.
   * @throws as `complete` does
   */
  async completeFrom<Other>(
    journal: ResponseJournal<Other>,
    request: unknown,
    send: (signal: AbortSignal) => Promise<Other>,
  ): Promise<Other> {
    const recorded = await journal.take(request);
    if (recorded !== undefined) return recorded;
    const { signal } = this.#context;
    signal.throwIfAborted();
    const response = await this.#counted(() => send(signal));
    await journal.append(request, response);
    this.#answered += 1;
    this.#context.heartbeat({ answered: this.#answered });
    this.#lastHeartbeatAt = Date.now();
    return response;
  }

  /** Another journal in the same work folder, under the same fencing token; closed with this client. */
  openJournal<Entry>(file: string): Promise<Journal<Entry>> {
    return this.#journals.open<Entry>(file);
  }

  /** A journal for `completeFrom`, in the same work folder. */
  openResponses<Other>(file: string): Promise<ResponseJournal<Other>> {
    return this.#journals.openResponses<Other>(file);
  }

  async close(): Promise<void> {
    await this.#journals.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #sendAndRecord(request: Request): Promise<Response> {
    this.#context.signal.throwIfAborted();
    const response = await this.#counted(() => this.#options.send(request, this.#context.signal));
    await this.#responses.append(request, response);
    this.#answered += 1;
    const { heartbeatDetails } = this.#options;
    if (heartbeatDetails !== undefined) {
      const milliseconds = Date.now() - this.#lastHeartbeatAt;
      this.#context.heartbeat(heartbeatDetails({ response, completed: this.#completed + 1, milliseconds }));
    }
    this.#lastHeartbeatAt = Date.now();
    return response;
  }

  /** Counts a request that fails. */
  async #counted<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    const { signal } = this.#context;
    try {
      return await send();
    } catch (error) {
      if (error instanceof ServerProblem) error.progressed = this.#answered > 0;
      if (this.#failures !== undefined && !signal.aborted) {
        const name = error instanceof Error ? error.name : 'Error';
        await this.#failures.append({ request: this.#completed, error: name });
        this.usage.retried += 1;
      }
      throw error;
    }
  }
}

/** Journals in a phase's work folder, all under one fencing token. */
class WorkJournals {
  readonly #folder: string;
  readonly #options: JournalOptions & Pick<PhaseStorage, 'onDamage'>;
  readonly #opened: Pick<Journal<never>, 'close'>[] = [];

  private constructor(folder: string, options: JournalOptions & Pick<PhaseStorage, 'onDamage'>) {
    this.#folder = folder;
    this.#options = options;
  }

  static async claim(work: Phase['work'], onDamage: PhaseStorage['onDamage']): Promise<WorkJournals> {
    const folder = await work();
    const token = await folder.claim();
    return new WorkJournals(folder.path, { onDamage, assertCurrent: () => token.assertCurrent() });
  }

  /** If one cannot be opened, all are closed: whoever opens them gets no client that could close them. */
  async open<Entry>(file: string): Promise<Journal<Entry>> {
    try {
      const journal = await Journal.open<Entry>(join(this.#folder, file), this.#options);
      this.#opened.push(journal);
      return journal;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async openResponses<Response>(file: string): Promise<ResponseJournal<Response>> {
    return new ResponseJournal(await this.open<ResponseLine<Response>>(file), this.#options.onDamage);
  }

  async close(): Promise<void> {
    for (const journal of this.#opened) await journal.close();
  }
}
