import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Progress } from '../../types/activity-types.ts';
import type { ComparisonProgress } from '../../types/comparison-types.ts';
import type { CliContext } from '../context.ts';
import { ask } from '../run/follow.ts';
import { ComparisonLines } from './comparison-lines.ts';
import { ComparisonScreen } from './comparison-screen.ts';
import type { RunProgress } from './comparison-screen.ts';

interface Display {
  show: (progress: ComparisonProgress, runs: readonly RunProgress[]) => void;
  end: () => void;
}

/** Shows how a comparison gets on, until `stop`: a table on a terminal, plain lines without one. */
export async function followComparison(
  client: Client,
  handle: { query<Result>(name: string): Promise<Result> },
  { terminal, print }: CliContext,
  stop: AbortSignal,
): Promise<void> {
  const display: Display = terminal === null ? new ComparisonLines(print) : new ComparisonScreen(terminal);
  const look = async (): Promise<void> => {
    const progress = await ask(client, () => handle.query<ComparisonProgress>('progress'));
    if (progress === undefined) return;
    // Plain lines have no use for the epochs of each run.
    const looked = terminal === null ? [] : progress.running;
    const runs = await Promise.all(
      looked.map(async (id) => ({
        id,
        progress:
          (await ask(client, () => client.workflow.getHandle(id).query<Progress>('progress'))) ?? null,
      })),
    );
    display.show(progress, runs);
  };
  while (!stop.aborted) {
    await look();
    await sleep(1_000, undefined, { signal: stop }).catch(() => undefined);
  }
  await look();
  display.end();
}
