import type { EpochRow, ReportEvent } from './run-data.ts';

/**
 * The rows with the seconds that training jobs waited in the queue of a back end as a phase of its own, `queue`,
 * taken from the phase that waited. A wait that two workers recorded counts once, one of an epoch that was
 * discarded by a rewind not at all. Jobs of one phase wait side by side, so a wait is at most its phase.
 */
export function withQueueTimes(rows: readonly EpochRow[], events: readonly ReportEvent[]): EpochRow[] {
  const waits = waitsByJob(events);
  return rows.map((row) => {
    const time = { ...row.time };
    const ofEpoch = waits.filter(({ epoch }) => epoch === row.epoch);
    for (const [phase, jobs] of Map.groupBy(ofEpoch, (wait) => wait.phase)) {
      const waited = jobs.reduce((sum, { seconds }) => sum + seconds, 0);
      const moved = Math.min(waited, time[phase] ?? 0);
      if (moved === 0) continue;
      time[phase] = time[phase]! - moved;
      time.queue = (time.queue ?? 0) + moved;
    }
    return { ...row, time };
  });
}

interface Wait {
  epoch: number;
  phase: string;
  seconds: number;
}

function waitsByJob(events: readonly ReportEvent[]): Wait[] {
  const waits = new Map<string, Wait>();
  for (const { type, epoch, phase, job, seconds } of events) {
    if (typeof epoch !== 'number') continue;
    if (type === 'rewound') for (const [name, wait] of waits) if (wait.epoch > epoch) waits.delete(name);
    if (type !== 'queued' || phase === undefined || job === undefined || seconds === undefined) continue;
    waits.set(`${epoch} ${job}`, { epoch, phase, seconds });
  }
  return [...waits.values()];
}
