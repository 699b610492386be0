import { join } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';
import { Python } from '../../src/processes/python.ts';
import { trackerEnvironment, trackerPython } from '../../src/tracking/trackers.ts';
import type { TrackerName } from '../../src/tracking/trackers.ts';

export interface ReadBack {
  points: [step: number, metric: string, value: number][];
  config: Record<string, unknown>;
  tags: Record<string, unknown>;
  tables: Record<string, unknown[]>;
  references: Record<string, string>;
  status?: string;
}

/** What a tracker has, by its own reader; fails unless it has exactly one run of that name. */
export async function readBack(
  tracker: TrackerName,
  place: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<ReadBack> {
  const python = new Python(trackerPython(tracker), {});
  const printed = await python.run([join(repository, 'test-support/read_trackers.py'), tracker, ...place], {
    variables: trackerEnvironment(tracker, env),
  });
  return JSON.parse(printed.trimEnd().split('\n').at(-1)!) as ReadBack;
}

/** Steps and values of a metric, in order of the steps. */
export const stepsOf = ({ points }: ReadBack, metric: string): { step: number; value: number }[] =>
  points
    .filter(([, name]) => name === metric)
    .map(([step, , value]) => ({ step, value }))
    .sort((a, b) => a.step - b.step);
