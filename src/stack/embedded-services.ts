import { join } from 'node:path';
import { STACK_MARK } from './marked-processes.ts';
import { PolicyServer } from './services/policy-server.ts';
import { TemporalServer } from './services/temporal-server.ts';
import { TrainerPackage } from './services/trainer-package.ts';
import { TrainerParent } from './services/trainer-parent.ts';
import { WorkerProcess } from './services/worker-process.ts';
import type { Service } from './service.ts';
import type { StackPaths } from './stack-paths.ts';
import type { StackAddresses } from './stack-record.ts';

/** Programs and environment that the stack's processes are started with. */
export interface Programs {
  node: string;
  python: string;
  temporal: string;
  repository: string;
  env: Record<string, string | undefined>;
}

/** The services of a stack: those of one stage start together, after those of the stage before, and end in reverse order. */
export interface StackServices {
  stages: Service[][];
  addresses(): StackAddresses;
}

/** Temporal's dev server, policy server and trainer, then the worker. */
export function embeddedServices(
  { node, python, temporal, repository, env }: Programs,
  paths: StackPaths,
  ports: Record<string, number>,
): StackServices {
  // The stack's own profile takes the place of the user's: their addresses, keys and certificates are for other servers.
  const own = {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'))),
    [STACK_MARK]: paths.home,
  };
  const trainerPackage = new TrainerPackage(python, join(repository, 'trainer'), own);
  const server = new TemporalServer(temporal, paths, own, ports);
  const policyServer = new PolicyServer(trainerPackage, paths, ports);
  const trainer = new TrainerParent(trainerPackage, paths);
  const addresses = (): StackAddresses => ({
    temporal: server.address,
    namespace: server.namespace,
    ui: server.ui,
    policyServer: policyServer.url,
    trainerSocket: paths.trainerSocket,
  });
  const worker = new WorkerProcess(
    { node, repository, home: paths.home, python, profile: paths.profile, env: own, addresses },
    ports,
  );
  return { stages: [[server, policyServer, trainer], [worker]], addresses };
}
