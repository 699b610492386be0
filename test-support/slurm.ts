/** Clusters of one node for tests: a real one of the engine `slurm`, and a fake of its commands. */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { engineFolder } from '../infra/setup/locations.mjs';
import { isStamped } from '../infra/setup/virtual-environment.mjs';
import { runProgram } from '../src/processes/program.ts';
import { freePort } from './free-port.ts';
import { processesWith, TestProcess, until } from './processes.ts';

export interface TestCluster extends AsyncDisposable {
  /** What its commands, and its jobs, are started with. */
  readonly env: Record<string, string>;
  /** From now on, until `controllerBack`, its commands fail. */
  controllerAway(): Promise<void>;
  controllerBack(): Promise<void>;
}

/** A command of a cluster. @throws Error with what it said, if it fails */
export async function slurmCommand(
  cluster: TestCluster,
  command: string,
  ...args: string[]
): Promise<string> {
  const end = await runProgram(command, args, { env: { ...cluster.env, TZ: 'UTC' }, timeoutMs: 60_000 });
  if (end.code !== 0) throw new Error(`${command} ${args.join(' ')}: ${end.stderr}`);
  return end.stdout;
}

/** sbatch, squeue and scancel of a script. */
export class FakeSlurm implements TestCluster {
  readonly env: Record<string, string>;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const script = join(import.meta.dirname, 'fake_slurm.py');
    for (const name of ['sbatch', 'squeue', 'scancel']) {
      symlinkSync(script, join(bin, name));
    }
    this.env = { PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`, FAKE_SLURM: folder };
  }

  controllerAway(): Promise<void> {
    writeFileSync(join(this.#folder, 'away'), '');
    return Promise.resolve();
  }

  controllerBack(): Promise<void> {
    rmSync(join(this.#folder, 'away'));
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

const engine = engineFolder('slurm');
/** Why the real one cannot be started here; empty if it can. */
export const slurmMissing = isStamped(engine) ? '' : ' (skipped: npm run engines -- slurm)';

/** munged, slurmctld and slurmd on free ports of the loopback, by whoever runs the tests. */
export class RealSlurm implements TestCluster {
  readonly env: Record<string, string>;
  readonly #folder: string;
  #munge: TestProcess | undefined;
  #controller: TestProcess | undefined;
  #node: TestProcess | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    const path = [join(engine, 'bin'), join(engine, 'sbin'), process.env.PATH ?? ''].join(delimiter);
    const libraries = [join(engine, 'lib'), join(engine, 'plugins')].join(delimiter);
    this.env = { PATH: path, LD_LIBRARY_PATH: libraries, SLURM_CONF: join(folder, 'slurm.conf') };
  }

  static async start(folder: string): Promise<RealSlurm> {
    const cluster = new RealSlurm(folder);
    try {
      await cluster.#configure();
      const munge = (name: string): string => join(folder, `munge.${name}`);
      cluster.#munge = cluster.#process('munged', [
        ...['--foreground', '--force', `--socket=${munge('socket')}`, `--key-file=${munge('key')}`],
        ...[`--log-file=${munge('log')}`, `--pid-file=${munge('pid')}`, `--seed-file=${munge('seed')}`],
      ]);
      await until(() => existsSync(munge('socket')), 60_000, 'munged');
      await cluster.controllerBack();
      await cluster.restartNode();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Ends the controller as an operator does, or kills it, which loses what it has not written yet. */
  async controllerAway(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#controller?.stop(signal);
  }

  async controllerBack(): Promise<void> {
    this.#controller = this.#process('slurmctld-wlm', ['-D']);
    const answers = async (): Promise<boolean> => (await this.#states()) !== undefined;
    await until(answers, 60_000, 'slurmctld');
  }

  /** Kills the node with all that runs on it, as the loss of the machine does. */
  async loseNode(): Promise<void> {
    const ofCluster = `SLURM_CONF=${this.env.SLURM_CONF!}\0`;
    const runsThere = (folder: string): boolean => {
      const environment = readFileSync(`${folder}/environ`, 'utf8');
      return (
        environment.includes(ofCluster) &&
        (environment.includes('SLURM_JOB_ID=') ||
          readFileSync(`${folder}/cmdline`, 'utf8').startsWith('slurmstepd'))
      );
    };
    await this.#node?.stop('SIGKILL');
    for (const pid of processesWith(runsThere)) process.kill(pid, 'SIGKILL');
  }

  /** Starts the node again, which knows of no job. */
  async restartNode(): Promise<void> {
    const stepd = join(engine, 'sbin', 'slurmstepd-wlm');
    this.#node = this.#process('slurmd-wlm', ['-D', '-d', stepd, '-N', node]);
    const isUp = async (): Promise<boolean> =>
      /^(idle|mixed|allocated)\s*$/.test((await this.#states()) ?? '');
    await until(isUp, 60_000, 'a node that takes jobs');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await slurmCommand(this, 'scancel', '--full', '--signal=KILL', '--me').catch(() => undefined);
    for (const process of [this.#node, this.#controller, this.#munge]) await process?.stop();
  }

  async #states(): Promise<string | undefined> {
    const { env } = this;
    const end = await runProgram('sinfo', ['--noheader', '--format=%T'], { env, timeoutMs: 30_000 });
    return end.code === 0 ? end.stdout : undefined;
  }

  #process(command: string, args: readonly string[]): TestProcess {
    const { env } = this;
    const log = join(this.#folder, `${command}.out`);
    return new TestProcess(command, args, { env, cwd: this.#folder, log });
  }

  async #configure(): Promise<void> {
    const folder = this.#folder;
    chmodSync(folder, 0o700);
    writeFileSync(join(folder, 'munge.key'), randomBytes(1024), { mode: 0o600 });
    const [controllerPort, nodePort] = [await freePort(), await freePort()];
    const user = userInfo().username;
    const settings = [
      ...['ClusterName=genenv', `SlurmctldHost=${node}(127.0.0.1)`, `SlurmctldPort=${controllerPort}`],
      ...[`SlurmdPort=${nodePort}`, 'AuthType=auth/munge', 'CredType=cred/munge'],
      ...[`AuthInfo=socket=${join(folder, 'munge.socket')}`, `SlurmUser=${user}`, `SlurmdUser=${user}`],
      ...[`StateSaveLocation=${join(folder, 'controller')}`, `SlurmdSpoolDir=${join(folder, 'node')}`],
      ...[`SlurmctldPidFile=${join(folder, 'c.pid')}`, `SlurmdPidFile=${join(folder, 'n.pid')}`],
      ...[`PluginDir=${join(engine, 'plugins')}`, 'ProctrackType=proctrack/linuxproc'],
      ...['TaskPlugin=task/none', 'SwitchType=switch/none', 'MpiDefault=none'],
      ...['SelectType=select/cons_tres', 'SelectTypeParameters=CR_Core', 'ReturnToService=2'],
      ...['SchedulerParameters=sched_interval=1,sched_min_interval=0', 'KillWait=5', 'MinJobAge=300'],
      ...['JobAcctGatherType=jobacct_gather/none', 'AccountingStorageType=accounting_storage/none'],
      ...[`NodeName=${node} NodeAddr=127.0.0.1 CPUs=2`],
      ...[`PartitionName=train Nodes=${node} Default=YES MaxTime=INFINITE State=UP`],
    ];
    for (const name of ['controller', 'node']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'slurm.conf'), `${settings.join('\n')}\n`);
    return Promise.resolve();
  }
}

const node = hostname().split('.')[0]!;
