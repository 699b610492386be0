import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

interface FakeRun {
  config: string;
  group: string;
  /** Lines of its history by their number: one that is sent again replaces the first. */
  history: Map<number, string>;
}

/** What of W&B's service its SDK needs to create, resume and log a run. Artifacts are refused. */
export class FakeWandb implements AsyncDisposable {
  readonly runs = new Map<string, FakeRun>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#answer(request).then((answer) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(answer));
      });
    });
  }

  static async start(): Promise<FakeWandb> {
    const fake = new FakeWandb();
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get uri(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The history of a run, in the order of its lines. */
  history(id: string): Record<string, unknown>[] {
    const lines = [...(this.runs.get(id)?.history ?? [])].sort(([a], [b]) => a - b);
    return lines.map(([, line]) => JSON.parse(line) as Record<string, unknown>);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage): Promise<object> {
    const isZipped = request.headers['content-encoding'] === 'gzip';
    const body = await text(isZipped ? request.pipe(createGunzip()) : request);
    if (request.url === '/graphql') return this.#query(JSON.parse(body) as GraphQuery);
    const run = /^\/files\/[^/]+\/[^/]+\/([^/]+)\/file_stream/.exec(request.url ?? '')?.[1];
    if (run === undefined) return {};
    const { files } = JSON.parse(body) as { files?: Record<string, { offset: number; content: string[] }> };
    const part = files?.['wandb-history.jsonl'];
    for (const [index, line] of (part?.content ?? []).entries())
      this.runs.get(run)?.history.set(part!.offset + index, line);
    return {};
  }

  #query({ query, variables }: GraphQuery): object {
    const name = /(?:query|mutation)\s+(\w+)/.exec(query)?.[1];
    const { name: id = '', config, groupName } = variables ?? {};
    const project = { id: 'p', name: 'project', entity: { id: 'e', name: 'team' } };
    if (name === 'Viewer')
      return { data: { viewer: { id: 'u', entity: 'team', flags: '{}', username: 'u' } } };
    if (name === 'ArtifactType') return { data: { project: null } };
    if (name === 'RunResumeStatus') return { data: { model: { ...project, bucket: this.#bucket(id) } } };
    if (name !== 'UpsertBucket') return { errors: [{ message: 'the fake does not have it' }], data: null };
    const run = this.runs.get(id) ?? { config: '{}', group: '', history: new Map<number, string>() };
    this.runs.set(id, { ...run, config: config ?? run.config, group: groupName ?? run.group });
    const bucket = { id, name: id, displayName: id, historyLineCount: run.history.size, project };
    return { data: { upsertBucket: { bucket, inserted: run.history.size === 0 } } };
  }

  /** What the SDK resumes from; null for a run that is not there. */
  #bucket(id: string): object | null {
    const run = this.runs.get(id);
    if (run === undefined) return null;
    const last = this.history(id).at(-1);
    return {
      ...{ id, name: id, displayName: id, notes: '', tags: [], config: run.config, wandbConfig: '{"t":1}' },
      ...{ historyLineCount: run.history.size, eventsLineCount: 0, logLineCount: 0, eventsTail: '[]' },
      historyTail: JSON.stringify(last === undefined ? [] : [JSON.stringify(last)]),
      summaryMetrics: JSON.stringify(last ?? {}),
    };
  }
}

interface GraphQuery {
  query: string;
  variables: { name?: string; config?: string | null; groupName?: string | null } | null;
}
