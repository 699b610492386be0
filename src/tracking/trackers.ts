/** The trackers that a run can be sent to: whose Python they need, and what they may know of the environment. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { engineFolder, pythonPath } from '../../infra/setup/locations.mjs';
import { childEnvironment } from '../processes/child-environment.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';

export const trackerNames = ['wandb', 'mlflow', 'trackio', 'tensorboard'] as const;
export type TrackerName = (typeof trackerNames)[number];

/** Beginnings of the names of variables that each tracker's package reads: its address, and its keys. */
const ownPrefixes: Record<TrackerName, readonly string[]> = {
  wandb: ['WANDB_'],
  mlflow: ['MLFLOW_', 'DATABRICKS_'],
  trackio: ['TRACKIO_'],
  tensorboard: [],
};

/** How their servers are reached, and a fault that a test has armed. */
const sharedNames = new Set([
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['REQUESTS_CA_BUNDLE', 'NETRC', 'GENENV_TRACKER_FAULT'],
]);

/**
 * The environment of a tracker's process: what every child gets, and what its own package reads, keys included.
 * Another tracker's keys are not in it.
 */
export const trackerEnvironment = (
  name: TrackerName,
  environment: NodeJS.ProcessEnv,
): Record<string, string> => ({
  ...childEnvironment(environment),
  ...Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined &&
        (sharedNames.has(entry[0]) || ownPrefixes[name].some((prefix) => entry[0].startsWith(prefix))),
    ),
  ),
});

/**
 * The Python that has a tracker's package.
 * @throws InvalidConfig naming the command that installs it
 */
export function trackerPython(name: TrackerName): string {
  const isTrainers = name === 'tensorboard';
  const path = isTrainers ? pythonPath() : join(engineFolder('trackers'), 'bin', 'python');
  if (existsSync(path)) return path;
  throw new InvalidConfig(
    `tracker: got "${name}", whose packages are not installed (${path} is missing); run ` +
      (isTrainers ? '`node infra/setup/setup.mjs`' : '`npm run engines -- trackers`'),
  );
}

/** @throws InvalidConfig naming the option */
export function parseTracker(option: string, text: string): TrackerName {
  const name = trackerNames.find((allowed) => allowed === text);
  if (name !== undefined) return name;
  throw new InvalidConfig(
    `${option}: got ${JSON.stringify(text.slice(0, 40))}; allowed: ${trackerNames.join(', ')}`,
  );
}

/** Trackers of an option that may be repeated, and takes several with commas between. @throws InvalidConfig */
export const parseTrackers = (option: string, texts: readonly string[]): TrackerName[] => [
  ...new Set(texts.flatMap((text) => text.split(',')).map((text) => parseTracker(option, text.trim()))),
];
