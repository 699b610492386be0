/** What the operating system knows of a job's processes: whether they work, though they say nothing. */
import { readdir, readFile } from 'node:fs/promises';

/** What a session of processes has used so far. */
export interface SessionUsage {
  cpuMs: number;
  /** Bytes that storage has read and written for it. */
  ioBytes: number;
}

/** Linux counts processor time in hundredths of a second, whatever its own clock. */
const msPerTick = 10;

interface ProcessStat {
  pid: number;
  parent: number;
  session: number;
  /** Of itself and of its children that have ended. */
  cpuMs: number;
}

async function processStats(): Promise<ProcessStat[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const stats: ProcessStat[] = [];
  for (const pid of pids) {
    const stat = await readOrEmpty(`/proc/${pid}/stat`);
    // The name of the program is in parentheses, and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields.length < 15) continue;
    // utime, stime, cutime and cstime.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    const [parent, session] = [Number(fields[1]), Number(fields[3])];
    stats.push({ pid: Number(pid), parent, session, cpuMs: ticks * msPerTick });
  }
  return stats;
}

/**
 * Processor time and storage traffic of a session, children included; those of children that have ended are
 * in their parent's. Children that lead sessions of their own, as those of torchrun, count with theirs. Undefined
 * if nothing can be known: no `/proc`, or no such session.
 */
export async function sessionUsage(session: number): Promise<SessionUsage | undefined> {
  const all = await processStats();
  const own = new Set(all.filter((stat) => stat.session === session).map(({ pid }) => pid));
  const sessions = new Set([
    session,
    ...all.filter(({ parent }) => own.has(parent)).map((child) => child.session),
  ]);
  const usage = { cpuMs: 0, ioBytes: 0 };
  for (const { pid, cpuMs } of all.filter((stat) => sessions.has(stat.session))) {
    usage.cpuMs += cpuMs;
    const io = await readOrEmpty(`/proc/${pid}/io`);
    for (const [, bytes] of io.matchAll(/^(?:read|write)_bytes: (\d+)$/gm)) usage.ioBytes += Number(bytes);
  }
  return own.size === 0 ? undefined : usage;
}

/** A process may end between two reads. */
const readOrEmpty = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

/** Processor time that is more than polling: 1 % of the time, and not a matter of rounding. */
const minShare = 0.01;
const minCpuMs = 50;
const minIoBytes = 1 << 20;

/**
 * Whether a session does work: tells a job that computes or loads without a word from one that hangs. A
 * process that waits for a GPU without sleeping uses a processor, so it counts as working.
 */
export class WorkMeter {
  readonly #read: (session: number) => Promise<SessionUsage | undefined>;
  #session: number | undefined;
  #last: SessionUsage | undefined;
  #lastAt = 0;

  constructor(read = sessionUsage) {
    this.#read = read;
  }

  /** Whether it has worked since this last said so; false for a session that was not looked at before. */
  async hasWorked(session: number, now = Date.now()): Promise<boolean> {
    const usage = await this.#read(session);
    const last = session === this.#session ? this.#last : undefined;
    const cpuMs = (usage?.cpuMs ?? 0) - (last?.cpuMs ?? 0);
    const ioBytes = (usage?.ioBytes ?? 0) - (last?.ioBytes ?? 0);
    const hasWorked =
      usage !== undefined &&
      last !== undefined &&
      ((cpuMs >= minCpuMs && cpuMs >= minShare * (now - this.#lastAt)) || ioBytes >= minIoBytes);
    if (hasWorked || last === undefined || cpuMs < 0) {
      this.#session = session;
      this.#last = usage;
      this.#lastAt = now;
    }
    return hasWorked;
  }
}
