import { appendFileSync, existsSync, readFileSync, renameSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor, ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * A fault that a test arms while the worker runs. It strikes once, in the first worker that comes to where it
 * is meant to.
 */
export interface ArmedFault {
  run: string;
  activity: string;
  epoch: number;
  /** `rename` and `link`: right before a file whose path contains `target` gets its name. */
  when: 'before' | 'after' | 'lost' | 'rename' | { ms: number };
  signal?: NodeJS.Signals;
  target?: string;
}

/** What a worker does, one line each; `isRecorded`: the phase has a recorded result already. */
export interface TrailLine {
  at: number;
  pid: number;
  what: 'begin' | 'end' | 'error' | 'fault';
  run: string;
  activity: string;
  epoch: number | null;
  shard: number | null;
  attempt: number;
  isRecorded: boolean;
  message?: string;
}

export const trailFile = (folder: string): string => join(folder, 'trail.jsonl');
export const faultFile = (folder: string): string => join(folder, 'fault.json');

const phaseOf: Record<string, string> = {
  generateTasks: 'generate',
  drawTasks: 'draw',
  rollOut: 'roll-out',
  computeRewards: 'reward',
  filterByDifficulty: 'filter',
  updatePools: 'pools',
  trainAgent: 'train-agent',
  trainEnvironment: 'train-environment',
  evaluatePolicy: 'evaluate',
};

type Input = { run?: { id?: string }; id?: string; epoch?: number; shard?: number };

/** Leaves a trail in the folder, and strikes with the fault that lies there. */
export function armedFaults(folder: string, home: string): ActivityInterceptorsFactory {
  return ({ info }: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: {
      async execute(input, next) {
        const { run, id, epoch, shard } = (input.args[0] ?? {}) as Input;
        const runId = run?.id ?? id ?? '';
        const phase = phaseOf[info.activityType];
        const keys = join(home, 'store', 'keys', runId, String(epoch).padStart(4, '0'), phase ?? '');
        const shardKeys = shard === undefined ? keys : join(keys, String(shard).padStart(2, '0'));
        const isRecorded = phase !== undefined && epoch !== undefined && existsSync(shardKeys);
        const note = (what: TrailLine['what'], message?: string): void => {
          const line: TrailLine = {
            at: Date.now(),
            pid: process.pid,
            what,
            run: runId,
            activity: info.activityType,
            epoch: epoch ?? null,
            shard: shard ?? null,
            attempt: info.attempt,
            isRecorded,
            ...(message === undefined ? {} : { message }),
          };
          appendFileSync(trailFile(folder), `${JSON.stringify(line)}\n`);
        };
        const fault = claim(folder, runId, info.activityType, epoch);
        const strike = (): void => {
          note('fault', JSON.stringify(fault));
          if (fault?.signal) process.kill(process.pid, fault.signal);
        };
        note('begin');
        try {
          if (fault?.when === 'before') strike();
          if (fault?.when === 'rename') beforeRename(fault.target ?? '', strike);
          if (typeof fault?.when === 'object') setTimeout(strike, fault.when.ms);
          const result = await next(input);
          if (fault?.when === 'after') strike();
          if (fault?.when === 'lost') {
            note('fault', JSON.stringify(fault));
            throw new Error('the answer was lost');
          }
          note('end');
          return result;
        } catch (error) {
          note('error', String(error));
          throw error;
        }
      },
    },
  });
}

function claim(
  folder: string,
  run: string,
  activity: string,
  epoch: number | undefined,
): ArmedFault | undefined {
  try {
    const fault = JSON.parse(readFileSync(faultFile(folder), 'utf8')) as ArmedFault;
    if (fault.run !== run || fault.activity !== activity || (epoch !== undefined && fault.epoch !== epoch))
      return undefined;
    renameSync(faultFile(folder), `${faultFile(folder)}.struck`);
    return fault;
  } catch {
    return undefined;
  }
}

/**
 * Calls `strike` when a file is about to get a name that contains `target`, as a crash between write and
 * rename would.
 */
function beforeRename(target: string, strike: () => void): void {
  const { rename, link } = promises;
  const wrapped = <F extends typeof rename>(original: F) =>
    (async (from: Parameters<F>[0], to: Parameters<F>[1]) => {
      if (String(to).includes(target)) {
        Object.assign(promises, { rename, link });
        syncBuiltinESMExports();
        strike();
      }
      return original(from, to);
    }) as F;
  Object.assign(promises, { rename: wrapped(rename), link: wrapped(link) });
  syncBuiltinESMExports();
}
