import type { FailNightInput } from '../contracts/nights.ts';
import type { Ports } from './ports.ts';

/** Notes why a night failed. The night stays open: when it comes again, it goes on. */
export function createFailNight({ nightlyFolder }: Ports) {
  return async ({ night: { nightly, night, from }, reason }: FailNightInput): Promise<void> => {
    await nightlyFolder(nightly.name).note({
      night,
      outcome: 'failed',
      reason,
      standing: from,
      candidate: null,
      test: null,
      time: new Date().toISOString(),
    });
  };
}
