import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { z } from 'zod';
import { createBoundedServer } from '../async/bounded-server.ts';
import { Refusal } from '../async/refusal.ts';
import { listenNames } from '../config/listen-address.ts';
import { InvalidArtifact, undefinedIfMissing } from '../store/errors.ts';
import { isRunId } from '../store/phase-cache.ts';
import { readPlainFile } from '../store/plain-files.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { Access } from './access.ts';
import type { HomeView, RunLine, RunPage, TaskPage, TasksPage } from './api.ts';
import { assets, reportPolicy, securityHeaders } from './assets.ts';
import { comparePage, compareQuerySchema } from './compare-page.ts';
import type { ComparedRun } from './compared-run.ts';
import { EpochTasks, taskQuerySchema } from './epoch-tasks.ts';
import { EventStream } from './event-stream.ts';
import type { LiveSource } from './live-source.ts';
import { caseQuerySchema, ResultsPages } from './results-pages.ts';
import { RunPages } from './run-pages.ts';
import { taskPage } from './task-page.ts';
import type { RunState } from './time-left.ts';
import { Tokenizers } from './token-texts.ts';

export interface DashboardOptions {
  home: string;
  token: string;
  loadWorld: LoadWorld;
  source: LiveSource;
}

type Answer = (parts: string[], query: URLSearchParams) => Promise<unknown>;

/** Serves the pages of a home folder, read only. What it answers as JSON is in api.ts. */
export class Dashboard {
  readonly #home: string;
  readonly #token: string;
  readonly #runs: RunPages;
  readonly #results: ResultsPages;
  readonly #tasks = new EpochTasks();
  readonly #tokenizers = new Tokenizers();
  readonly #events: EventStream;
  readonly #server: Server;
  #access: Access | undefined;
  #isClosed = false;

  constructor({ home, token, loadWorld, source }: DashboardOptions) {
    this.#home = home;
    this.#token = token;
    this.#runs = new RunPages(home, loadWorld, source);
    this.#results = new ResultsPages(home);
    this.#events = new EventStream(this.#runs, this.#results);
    this.#server = createBoundedServer((request, response) => {
      this.#respond(request, response).catch((error: unknown) => sendError(request, response, error));
    });
  }

  /**
   * Listens, and gives the address to open, with the token.
   * @param hosts other names that it is asked under, as `name:port`
   * @throws Error if the port is taken
   */
  async listen(host: string, port: number, hosts: readonly string[] = []): Promise<string> {
    const address = await new Promise<{ port: number }>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => resolve(this.#server.address() as { port: number }));
    });
    const names = listenNames(host, address.port, hosts);
    this.#access = new Access(this.#token, names.hosts, address.port);
    return `http://${names.shown}/?token=${this.#token}`;
  }

  /** Reads all runs: the first look at hundreds takes seconds, and is over when somebody opens the page. */
  async warmUp(): Promise<void> {
    await this.#homeView();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#events.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    const url = new URL(request.url ?? '/', 'http://dashboard');
    if (!this.#access!.admit(request, url, response)) return;
    const asset = assets[url.pathname];
    if (asset !== undefined) {
      send(response, asset.type, await asset.read());
      return;
    }
    const [, area = '', name = '', ...parts] = url.pathname.split('/').map(decodeURIComponent);
    if (area === 'reports') return this.#sendReport(response, name, parts);
    if (area !== 'api') throw new Refusal(404, 'no such page');
    if (name === 'events') {
      this.#events.listen(response);
      return;
    }
    const answer = Object.hasOwn(this.#answers, name) ? this.#answers[name] : undefined;
    const value = await answer?.(parts, url.searchParams);
    if (value === undefined) throw new Refusal(404, describeAbsence(name, parts));
    send(response, 'application/json', JSON.stringify(value));
  }

  readonly #answers: Record<string, Answer> = {
    home: () => this.#homeView(),
    runs: (parts, query) => this.#runAnswer(parts, query),
    compare: async (_, query) => {
      const { runs, ...view } = compareQuerySchema.parse(Object.fromEntries(query));
      const compared: ComparedRun[] = [];
      // One after the other: dozens of long runs at once would fill the memory.
      for (const id of runs) compared.push(await this.#runs.compared(await this.#existingRun(id)));
      return comparePage(compared, view);
    },
    comparisons: ([id = '']) => this.#results.comparison(checkedId(id), (run) => this.#stateOf(run)),
    evaluations: ([id = '', part], query) =>
      part === 'cases'
        ? this.#results.cases(checkedId(id), caseQuerySchema.parse(Object.fromEntries(query)))
        : this.#results.evaluation(checkedId(id)),
  };

  async #stateOf(run: string): Promise<RunState | undefined> {
    const folder = (await this.#runs.folders()).find(({ id }) => id === run);
    if (folder === undefined) return undefined;
    const { state, isFinished, mayChange, epoch, epochs, secondsLeft } = await this.#runs.line(folder);
    return { state, isFinished, mayChange, epoch, epochs, secondsLeft };
  }

  async #homeView(): Promise<HomeView> {
    const [folders, comparisons, evaluations] = await Promise.all([
      this.#runs.folders(),
      this.#results.comparisons(),
      this.#results.evaluations(),
    ]);
    const owners = new Map(
      comparisons.flatMap(({ line, runs }) => runs.map((run) => [run, line.id] as const)),
    );
    const runs: RunLine[] = [];
    // One after the other: hundreds of runs at once would fill the memory.
    for (const folder of folders) {
      if (this.#isClosed) break;
      runs.push({ ...(await this.#runs.line(folder)), comparison: owners.get(folder.id) ?? null });
    }
    return {
      home: this.#home,
      runs: runs.sort(byInterest),
      comparisons: comparisons.map(({ line }) => line),
      evaluations,
    };
  }

  /** `ID`, `ID/live`, `ID/epochs/N/tasks` and `ID/epochs/N/tasks/K`. */
  async #runAnswer(
    [id = '', part, epoch, , index]: string[],
    query: URLSearchParams,
  ): Promise<RunPage | RunPage['live'] | TasksPage | TaskPage | undefined> {
    const folder = await this.#runs.folder(id);
    if (folder === undefined) return undefined;
    if (part === undefined) return this.#runs.page(folder);
    if (part === 'live') return this.#runs.live(folder);
    if (part !== 'epochs') return undefined;
    const viewed = await this.#runs.load(folder);
    const number = wholeNumber(epoch);
    if (index === undefined)
      return this.#tasks.page(folder, viewed, number, taskQuerySchema.parse(Object.fromEntries(query)));
    const row = viewed.run.rows.find((candidate) => candidate.epoch === number);
    const state = row && (await this.#tasks.state(folder, viewed, row));
    if (state === undefined) return undefined;
    if ('isPending' in state) throw new Refusal(503, 'the index of this epoch is being made');
    if ('problem' in state) throw new Refusal(409, state.problem);
    return taskPage(
      viewed,
      { ...state.index, epoch: number, index: wholeNumber(index) },
      await this.#tokenizers.ofAgent(viewed),
    );
  }

  /** @throws Refusal if there is no such run */
  async #existingRun(id: string): Promise<RunFolder> {
    const folder = await this.#runs.folder(id);
    if (folder === undefined) throw new Refusal(404, describeAbsence('runs', [id]));
    return folder;
  }

  async #sendReport(response: ServerResponse, kind: string, [id = '']: string[]): Promise<void> {
    if (kind !== 'comparisons' && kind !== 'evaluations') throw new Refusal(404, 'no such report');
    const page = await undefinedIfMissing(readPlainFile(this.#results.reportFile(kind, checkedId(id))));
    if (page === undefined) throw new Refusal(404, 'there is no report yet');
    response.setHeader('content-security-policy', reportPolicy);
    send(response, 'text/html; charset=utf-8', page);
  }
}

/** Those under way first, in an order that their progress does not change, then by the last commit. */
const byInterest = (a: RunLine, b: RunLine): number =>
  Number(b.isActive) - Number(a.isActive) ||
  (a.isActive ? a.id.localeCompare(b.id) : (b.updated ?? '').localeCompare(a.updated ?? ''));

/** What there is not, in words. */
function describeAbsence(area: string, [id = '', part, epoch, , task]: string[]): string {
  const named = JSON.stringify(id.slice(0, 100));
  if (area === 'comparisons' || area === 'evaluations') return `there is no ${area.slice(0, -1)} ${named}`;
  if (area !== 'runs' || (part !== undefined && part !== 'epochs')) return 'no such page';
  if (epoch === undefined) return `there is no run ${named}`;
  if (task === undefined) return `there is no run ${named}, or it has no epoch ${epoch.slice(0, 12)} yet`;
  return `run ${named} has no task ${task.slice(0, 12)} in epoch ${epoch.slice(0, 12)}`;
}

function checkedId(id: string): string {
  if (!isRunId(id)) throw new Refusal(404, 'nothing of that name');
  return id;
}

function wholeNumber(text: string | undefined): number {
  const number = Number(text);
  if (text === undefined || !/^\d{1,9}$/.test(text)) throw new Refusal(404, 'expected a number');
  return number;
}

function send(response: ServerResponse, type: string, body: string | Buffer): void {
  response.writeHead(200, { 'content-type': type }).end(body);
}

/** Scripts and programs, which ask below `/api`, are answered in JSON, and people in plain words. */
function sendError(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const [status, message] = statusOf(error);
  if (response.headersSent) response.end();
  else if (request.url?.startsWith('/api/'))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
  else response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
}

function statusOf(error: unknown): [number, string] {
  if (error instanceof Refusal) return [error.status, error.message];
  if (error instanceof z.ZodError) return [400, z.prettifyError(error)];
  if (error instanceof URIError) return [400, 'the address is not valid'];
  if (error instanceof InvalidArtifact || error instanceof InvalidConfig) return [409, error.message];
  return [500, error instanceof Error ? error.message : 'internal error'];
}
