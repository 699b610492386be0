import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { LiveView } from '../../src/dashboard/api.ts';
import type { LiveSource } from '../../src/dashboard/live-source.ts';
import { Dashboard } from '../../src/dashboard/server.ts';
import { worldLoader } from '../../src/worlds/registry.ts';

export const token = 'a-token-of-24-characters';

/** What Temporal would say of runs: as a test sets it, else that nothing is under way. */
export class FixedSource implements LiveSource {
  readonly views = new Map<string, Partial<LiveView>>();

  live({ id }: { id: string }, { isFinished }: { isFinished: boolean }): Promise<LiveView> {
    return Promise.resolve({
      state: isFinished ? 'finished' : 'interrupted',
      isActive: false,
      progress: null,
      phases: [],
      jobs: [],
      temporalUi: null,
      resumeCommand: null,
      ...this.views.get(id),
    });
  }
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface ServedDashboard extends AsyncDisposable {
  /** With the token. */
  address: string;
  origin: string;
  source: FixedSource;
  ask: (path: string, options?: { method?: string; headers?: Record<string, string> }) => Promise<Answer>;
  json: <T>(path: string) => Promise<T>;
}

/** A dashboard of a home folder, on a free port unless one is given. */
export async function serveDashboard(home: string, port = 0): Promise<ServedDashboard> {
  const source = new FixedSource();
  const dashboard = new Dashboard({ home, token, loadWorld: worldLoader(undefined), source });
  const address = await dashboard.listen('127.0.0.1', port);
  const { origin } = new URL(address);
  const ask: ServedDashboard['ask'] = (path, { method = 'GET', headers = {} } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request(`${origin}${path}`, { method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      });
      sent.on('error', reject).end();
    });
  return {
    address,
    origin,
    source,
    ask,
    json: async <T>(path: string) =>
      JSON.parse((await ask(path, { headers: { authorization: `Bearer ${token}` } })).text) as T,
    [Symbol.asyncDispose]: () => dashboard.close(),
  };
}
