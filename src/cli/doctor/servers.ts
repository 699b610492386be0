import { tryPort } from '../../dev-stack/ports.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { connect } from '../run/session.ts';
import { externalTemporal } from '../run/temporal-target.ts';
import { runningStack } from '../stack/running-stack.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';

const DEFAULT_PORTS = { Temporal: 7233, 'Temporal UI': 8233 };

/** Temporal and policy server, where they should be reached; the default ports where no stack runs. */
export async function servers({ env }: CliContext): Promise<Check[]> {
  const external = externalTemporal({}, env);
  if (external !== null) return [await reached('Temporal server', external)];
  const stack = runningStack(homeFolder(env));
  if (stack?.addresses) {
    const { temporal, namespace, policyServer } = stack.addresses;
    return [
      await reached('Temporal server', { connectionOptions: { address: temporal }, namespace }),
      await policyServerCheck(policyServer),
    ];
  }
  const down = note(
    'Embedded stack',
    stack === null ? 'not running; `genenv run` and `genenv up` start it' : 'starting',
  );
  const ports = await Promise.all(
    Object.entries(DEFAULT_PORTS).map(async ([what, port]) =>
      (await tryPort(port)) === null
        ? note(`Port ${port} (${what})`, 'taken; another one is chosen')
        : ok(`Port ${port} (${what})`, 'free'),
    ),
  );
  return [down, ...ports];
}

async function reached(what: string, target: Parameters<typeof connect>[0]): Promise<Check> {
  const address = target.connectionOptions.address ?? 'localhost:7233';
  try {
    const { connection } = await connect(target);
    await connection.workflowService.describeNamespace({ namespace: target.namespace });
    await connection.close();
    return ok(what, `${address}, namespace ${target.namespace}`);
  } catch (error) {
    return missing(
      what,
      `${address}, namespace ${target.namespace}: ${(error as Error).message}`,
      'check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS and API key; `genenv up` starts the embedded one',
    );
  }
}

async function policyServerCheck(url: string): Promise<Check> {
  const answer = await fetch(new URL('/health', url), { signal: AbortSignal.timeout(3_000) }).catch(
    (error: unknown) => error as Error,
  );
  if (answer instanceof Response && answer.ok) return ok('Policy server', url);
  return missing(
    'Policy server',
    `${url}: ${answer instanceof Response ? `status ${answer.status}` : answer.message}`,
    'see stack/logs/policy-server.log in the home folder',
  );
}
