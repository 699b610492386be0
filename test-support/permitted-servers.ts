/** Permits the servers that tests start: those on the loopback. */
import type { EndpointsSource } from '../src/config/endpoints.ts';
import { permitServer, serverResolver } from '../src/inference/endpoints.ts';
import type { ResolveServers } from '../src/inference/endpoints.ts';

/** `GENENV_ENDPOINTS` of a worker that may ask any server on the loopback, without a key. */
export const loopbackEndpoints = JSON.stringify({ addresses: ['http://127.0.0.1:*', 'http://localhost:*'] });

const source: EndpointsSource = { variable: loopbackEndpoints, homeFile: '' };

export const resolveLoopback: ResolveServers = serverResolver(source, {});
export const permitLoopback = permitServer(resolveLoopback);
