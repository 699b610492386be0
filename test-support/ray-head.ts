import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineReady } from '../infra/setup/engine-steps.mjs';
import { engineFolder } from '../infra/setup/locations.mjs';
import { RayJobs } from '../src/training/ray-jobs.ts';
import { freePort } from './free-port.ts';
import { TestProcess, until } from './processes.ts';

/** Why tests on a real cluster are skipped; undefined = they run. */
export const rayMissing = (await engineReady('ray'))
  ? undefined
  : 'the engine ray is not installed: npm run engines -- ray';

const startMs = 240_000;

/** The head of a real Ray cluster of one node, whose dashboard is on the loopback. */
export class RayHead implements AsyncDisposable {
  readonly baseUrl: string;
  readonly #folder: string;
  readonly #process: TestProcess;

  private constructor(port: number, ports: readonly number[], variables: Record<string, string>) {
    this.baseUrl = `http://127.0.0.1:${port}`;
    // Ray's sockets are in it, whose paths have at most 107 characters.
    this.#folder = mkdtempSync(join(tmpdir(), 'ray-'));
    const bin = join(engineFolder('ray'), 'bin');
    this.#process = new TestProcess(
      join(bin, 'python'),
      [
        ...[join(bin, 'ray'), 'start', '--head', '--block', '--disable-usage-stats'],
        ...['--node-ip-address', '127.0.0.1', '--temp-dir', this.#folder],
        ...['--dashboard-host', '127.0.0.1', '--dashboard-port', String(port)],
        ...['--port', String(ports[0]), '--dashboard-agent-listen-port', String(ports[1])],
        ...['--ray-client-server-port', String(ports[2])],
        // Of the system's choice: Ray's own range has ports of other tests.
        ...['--min-worker-port', '0', '--max-worker-port', '0', '--include-log-monitor', 'false'],
        ...['--num-cpus', '1', '--object-store-memory', '80000000'],
      ],
      {
        env: {
          ...{ PATH: `${bin}:/usr/bin:/bin`, HOME: this.#folder, RAY_USAGE_STATS_ENABLED: '0' },
          ...variables,
        },
        cwd: this.#folder,
        log: join(this.#folder, 'head.log'),
      },
    );
  }

  /**
   * Starts a head, and waits until it takes jobs.
   * @param port of its dashboard, where one was that is gone
   */
  static async start(variables: Record<string, string> = {}, port?: number): Promise<RayHead> {
    const ports = [await freePort(), await freePort(), await freePort()];
    const head = new RayHead(port ?? (await freePort()), ports, variables);
    try {
      await until(() => head.#takesJobs(), startMs, 'a Ray head that takes jobs');
      return head;
    } catch (error) {
      await head.kill();
      throw error;
    }
  }

  get port(): number {
    return Number(new URL(this.baseUrl).port);
  }

  /** Kills the head and all that runs on its node, as the loss of the machine does. */
  async kill(): Promise<void> {
    const { pid } = this.#process.child;
    const pids = pid === undefined ? [] : descendants(pid);
    for (const each of [...pids].reverse()) signal(each, 'SIGKILL');
    await this.#process.stop('SIGKILL');
    await until(() => !pids.some(isThere), startMs, 'the end of the processes of Ray');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  /** The dashboard answers before the agent of its node is there, which takes the jobs: then it says 500. */
  async #takesJobs(): Promise<boolean> {
    this.#process.expectAlive('it took jobs');
    const jobs = new RayJobs({ baseUrl: this.baseUrl, apiKey: undefined });
    const probe = { id: `probe-${randomUUID()}`, entrypoint: 'true', variables: {}, cpus: 0, gpus: 0 };
    return jobs.submit(probe).then(
      () => true,
      () => false,
    );
  }
}

/** The process and all below it, each after its parent. */
function descendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const pids = [root];
  for (const pid of pids) pids.push(...(children.get(pid) ?? []));
  return pids;
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whether a process runs: one that nobody has waited for is gone too. */
function isThere(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
