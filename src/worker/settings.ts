import { resolve } from 'node:path';
import { pythonPath } from '../../infra/setup/locations.mjs';

export type QueueName = 'workflows' | 'llm' | 'cpu' | 'gpu';
const queueNames: readonly QueueName[] = ['workflows', 'llm', 'cpu', 'gpu'];

/** What a worker is told by its environment and command line. */
export interface WorkerSettings {
  home: string;
  store: string;
  policyServer: string;
  trainerSocket: string;
  python: string;
  queues: readonly QueueName[];
  onShutdown: 'checkpoint' | 'detach';
  healthPort: number | undefined;
}

/** @throws Error naming the variable or flag, its value and what is allowed */
export function workerSettings(environment: NodeJS.ProcessEnv, queues: string | undefined): WorkerSettings {
  const home = resolve(environment.GENENV_HOME ?? '.genenv');
  const chosen = (queues ?? queueNames.join(',')).split(',').map((name) => name.trim());
  const wrong = chosen.find((name) => !queueNames.includes(name as QueueName));
  if (wrong !== undefined) throw new Error(`--queues: got ${JSON.stringify(wrong)}; allowed: ${queueNames.join(', ')}, separated by commas`);
  const onShutdown = environment.GENENV_ON_SHUTDOWN ?? 'checkpoint';
  if (onShutdown !== 'checkpoint' && onShutdown !== 'detach') throw new Error(`GENENV_ON_SHUTDOWN: got ${JSON.stringify(onShutdown)}; allowed: checkpoint, detach`);
  const port = environment.GENENV_HEALTH_PORT;
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw new Error(`GENENV_HEALTH_PORT: got ${JSON.stringify(port)}; expected a port number`);
  return {
    home,
    store: resolve(environment.GENENV_STORE ?? `${home}/store`),
    policyServer: environment.GENENV_POLICY_SERVER ?? 'http://127.0.0.1:8741/v1',
    trainerSocket: environment.GENENV_TRAINER_SOCKET ?? `${home}/stack/trainer.sock`,
    python: pythonPath(),
    queues: chosen as QueueName[],
    onShutdown,
    healthPort: port === undefined ? undefined : Number(port),
  };
}
