import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { FakeServer } from './fake-server.ts';

/** An answer of Ray's dashboard; `ID` stands for the job's id, `ENTRYPOINT` for its command. */
export interface RecordedAnswer {
  status: number;
  body: unknown;
}

/** What a real one has answered; test/training/ray.launchers.test.ts asks it again. */
export const recordedAnswers = JSON.parse(
  readFileSync(new URL('../test/contract/ray/answers.json', import.meta.url), 'utf8'),
) as Record<string, RecordedAnswer>;

/** A cluster that answers as the real one did, whose jobs are in the states that the test gives them. */
export class FakeRay extends FakeServer {
  /** Also while it is away. */
  baseUrl = '';
  /** Jobs by id: the name of the recorded answer for its state. */
  readonly jobs = new Map<string, string>();
  /** What was submitted, in order. */
  readonly submissions: Record<string, unknown>[] = [];
  readonly requests: string[] = [];
  readonly keys: (string | undefined)[] = [];
  /** A lost answer: the job is submitted, and its answer does not arrive. */
  losesAnswer = false;
  /** It takes no job, as while its agents start. */
  isFull = false;
  /** What is answered to everything instead, as by a proxy. */
  instead: RecordedAnswer | undefined;

  static async start(): Promise<FakeRay> {
    const fake = new FakeRay();
    await fake.listen();
    fake.baseUrl = fake.origin;
    return fake;
  }

  protected override answer(url: string | undefined, body: Buffer, response: ServerResponse): void {
    const { method = '', headers } = response.req;
    this.requests.push(`${method} ${url ?? ''}`);
    this.keys.push(headers.authorization);
    const [, id = '', action] = /^\/api\/jobs\/([^/]*)(\/stop)?$/.exec(url ?? '') ?? [];
    // Node's `fetch` sends this header, and Ray takes it for a browser.
    const isBrowser = headers['sec-fetch-mode'] !== undefined && method !== 'GET';
    if (this.instead !== undefined) send(response, this.instead, id);
    else if (isBrowser) send(response, recordedAnswers.browser!, id);
    else if (id === '') this.#submit(JSON.parse(body.toString()) as Record<string, unknown>, response);
    else send(response, recordedAnswers[this.#answerOn(id, action === undefined ? method : 'stop')]!, id);
  }

  /** @returns the name of the recorded answer to a request about a job */
  #answerOn(id: string, request: string): string {
    const state = this.jobs.get(id);
    if (state === undefined) return 'missing';
    const isLiving = state === 'pending' || state === 'running';
    switch (request) {
      case 'stop':
        if (state === 'running') this.jobs.set(id, 'stopped');
        return 'stop';
      case 'DELETE':
        if (!isLiving) this.jobs.delete(id);
        return isLiving ? 'not ended' : 'removed';
      default:
        return state;
    }
  }

  #submit(submission: Record<string, unknown>, response: ServerResponse): void {
    const id = String(submission.submission_id);
    if (this.isFull) {
      send(response, { status: 500, body: 'No available agent to submit job' }, id);
      return;
    }
    const isKnown = this.jobs.has(id);
    if (!isKnown) {
      this.submissions.push(submission);
      this.jobs.set(id, 'pending');
    }
    if (this.losesAnswer) response.destroy();
    else send(response, recordedAnswers[isKnown ? 'duplicate' : 'submitted']!, id);
  }
}

function send(response: ServerResponse, { status, body }: RecordedAnswer, id: string): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status).end(text.replaceAll('ID', id));
}
