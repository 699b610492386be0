import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../dev-stack/processes.ts';
import { readStackRecord, stackPaths } from '../../dev-stack/record.ts';
import type { StackRecord } from '../../dev-stack/record.ts';

export type OwnedStackRecord = StackRecord & { owner: NonNullable<StackRecord['owner']> };

/** The record of this home's stack, if a living process looks after it. */
export function runningStack(home: string): OwnedStackRecord | null {
  const record = readStackRecord(stackPaths(home).record);
  return record.owner !== null && isAlive(record.owner) ? { ...record, owner: record.owner } : null;
}

/** Waits until the stack that somebody else starts is ready; null where that process ends first. */
export async function readyStack(home: string, stop?: AbortSignal): Promise<OwnedStackRecord | null> {
  for (;;) {
    const record = runningStack(home);
    if (record === null || record.state === 'ready') return record;
    if (stop?.aborted === true) return null;
    await sleep(200);
  }
}
