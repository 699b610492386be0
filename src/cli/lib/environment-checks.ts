import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { pythonPath, temporalPath } from '../../../infra/setup/locations.mjs';
import { readStoreSettings } from '../../config/store-settings.ts';
import { tryPort } from '../../dev-stack/ports.ts';
import { Python } from '../../processes/python.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import { connect } from './connect.ts';
import { externalTemporal } from './session.ts';
import type { ExternalTemporal } from './session.ts';
import { runningStack } from './stack.ts';
import { byteText } from './text.ts';

/** Checks what is installed, writable and reachable. */
export async function checkEnvironment(context: CliContext): Promise<Check[]> {
  const [pythonChecks, temporalCheck, serverChecks, bucketChecks] = await Promise.all([
    checkPython(context),
    checkTemporal(),
    checkServers(context),
    checkBucket(homeFolder(context.env)),
  ]);
  const folderChecks = checkFolders(homeFolder(context.env));
  return [checkNode(), ...pythonChecks, temporalCheck, ...folderChecks, ...bucketChecks, ...serverChecks];
}

/** The bucket of the home folder, if it has one: whether two hosts could win one write. */
export async function checkBucket(home: string): Promise<Check[]> {
  const settings = readStoreSettings(home);
  if (settings === undefined) return [];
  const { Bucket } = await import('../../store/bucket.ts');
  const { requireOneWinner } = await import('../../store/bucket-probe.ts');
  const bucket = new Bucket(settings);
  try {
    await requireOneWinner(bucket);
    return [ok('Bucket', `${bucket.address()}: of 32 writers of one object one wins`)];
  } catch (error) {
    const { message } = error as Error;
    return [
      missing('Bucket', message.split('. ')[0]!, message.slice(message.indexOf('. ') + 2).replace(/\.$/, '')),
    ];
  }
}

const runProgram = promisify(execFile);
const RUN_SETUP = 'run `node infra/setup/setup.mjs`';
const MIN_NODE = 24;

function checkNode(): Check {
  const major = Number(process.versions.node.split('.')[0]);
  return major >= MIN_NODE
    ? ok('Node', process.versions.node)
    : missing(
        'Node',
        process.versions.node,
        `run \`npx genenv\` or \`npm run genenv\`, which use the Node ${MIN_NODE} of node_modules`,
      );
}

/** The Python environment, and PyTorch as it sees the machine. */
async function checkPython({ env }: CliContext): Promise<Check[]> {
  const path = pythonPath();
  if (!existsSync(path)) return [missing('Python environment', `${path} is not there`, RUN_SETUP)];
  const probe =
    'import sys, torch, transformers; print(sys.version.split()[0], torch.__version__, ' +
    'transformers.__version__, torch.cuda.is_available(), torch.get_num_threads())';
  try {
    const stdout = await new Python(path, env).run(['-c', probe], { timeoutMs: 120_000 });
    const [version = '', torch = '', transformers = '', cuda = '', threads = ''] = stdout.trim().split(' ');
    return [
      ok('Python environment', `${version}, ${path}`),
      ok('PyTorch', `${torch}, ${cuda === 'True' ? 'CUDA' : `CPU, ${threads} threads`}`),
      ok('transformers', transformers),
    ];
  } catch (error) {
    const last = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1) ?? (error as Error).message;
    return [missing('Python environment', `${path}: ${last}`, `${RUN_SETUP}, or correct GENENV_PYTHON`)];
  }
}

async function checkTemporal(): Promise<Check> {
  const path = temporalPath();
  if (!existsSync(path)) return missing('Temporal executable', `${path} is not there`, RUN_SETUP);
  try {
    const { stdout } = await runProgram(path, ['--version'], { timeout: 20_000 });
    return ok('Temporal executable', `${stdout.trim()}, ${path}`);
  } catch (error) {
    return missing(
      'Temporal executable',
      `${path}: ${(error as Error).message.split('\n')[0] ?? ''}`,
      'correct GENENV_TEMPORAL, or remove that file and run set-up',
    );
  }
}

const MIN_FREE_BYTES = 2e9;

/**
 * Whether stack, runs and store can be written, and how much space is free. Does not create the home folder.
 */
function checkFolders(home: string): Check[] {
  const store = join(home, 'store');
  return [
    checkWritable('Home folder', home),
    ...(existsSync(store)
      ? [checkWritable('Store', store)]
      : [note('Store', `${store} will be made by the first run`)]),
    checkSpace(home),
  ];
}

function checkWritable(what: string, folder: string): Check {
  const existing = nearestExisting(folder);
  const probe = join(existing, `.genenv-doctor-${process.pid}`);
  try {
    mkdirSync(probe);
    writeFileSync(join(probe, 'file'), '');
    return ok(what, existing === folder ? folder : `${folder} (not there yet)`);
  } catch (error) {
    return missing(
      what,
      `${folder}: ${(error as Error).message}`,
      'make it writable, or set GENENV_HOME to another folder',
    );
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}

function checkSpace(home: string): Check {
  const { bavail, bsize } = statfsSync(nearestExisting(home));
  const free = bavail * bsize;
  return free < MIN_FREE_BYTES
    ? missing(
        'Disk space',
        `${byteText(free)} free`,
        `free some: a run of the laptop experiment takes less than ${byteText(MIN_FREE_BYTES)}; ` +
          '`genenv gc` removes old checkpoints',
      )
    : ok('Disk space', `${byteText(free)} free`);
}

export function nearestExisting(folder: string): string {
  let path = folder;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  return path;
}

const DEFAULT_PORTS = { Temporal: 7233, 'Temporal UI': 8233 };

/** Temporal and policy server, where they should be reached; the default ports if no stack runs. */
async function checkServers({ env }: CliContext): Promise<Check[]> {
  const external = externalTemporal({}, env);
  if (external !== null) return [await checkConnection('Temporal server', external, env)];
  const stack = runningStack(homeFolder(env));
  if (stack?.addresses) {
    const { temporal, namespace, policyServer } = stack.addresses;
    return [
      await checkConnection('Temporal server', { connectionOptions: { address: temporal }, namespace }, env),
      ...(policyServer === null ? [] : [await checkPolicyServer(policyServer)]),
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

async function checkConnection(
  what: string,
  target: ExternalTemporal,
  env: NodeJS.ProcessEnv,
): Promise<Check> {
  const address = target.connectionOptions.address ?? 'localhost:7233';
  try {
    const { connection } = await connect(target, { env });
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

async function checkPolicyServer(url: string): Promise<Check> {
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
