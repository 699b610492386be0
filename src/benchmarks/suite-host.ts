import { join } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';
import type { SuiteHost } from './suite.ts';

/** What suites find on this machine. @param downloads folder of what the user has downloaded */
export const suiteHost = (downloads: string, secret: (name: string) => string | undefined): SuiteHost => ({
  shipped: join(repository, 'data'),
  downloads,
  enginePython: () => Promise.resolve(null),
  secret,
});
