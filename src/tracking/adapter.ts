import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { Sidecar } from '../benchmarks/sidecar.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { Outcome, TrackedEpoch, TrackedRun } from './feed.ts';
import type { TrackerName } from './trackers.ts';

/** Where a run goes. */
export interface Destination {
  tracker: TrackerName;
  /** Name of the project (of MLflow, the experiment) that has the run. */
  project: string;
  /** Address of the tracker's server; null for the tracker's own default. */
  uri: string | null;
  /** What this machine keeps for the tracker. */
  folder: string;
}

/** A run that is open at a tracker. */
export interface Adapter extends AsyncDisposable {
  /** Begins or continues the run. @returns the last step that the tracker has; null for none. @throws InvalidConfig */
  open(run: TrackedRun): Promise<number | null>;
  send(epoch: TrackedEpoch): Promise<void>;
  close(outcome: Outcome | null): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 300_000;
const trainer = fileURLToPath(new URL('../../trainer', import.meta.url));
const opened = z.union([z.object({ last: z.int().min(0).nullable() }), z.object({ refused: z.string() })]);

/** The process of `trainer/genenv_trackers` that speaks with one tracker. */
export class TrackerProcess implements Adapter {
  readonly #sidecar: Sidecar;
  readonly #destination: Destination;

  /** @param python its interpreter @param environment all that it gets of the environment */
  constructor(destination: Destination, python: string, environment: Readonly<Record<string, string>>) {
    this.#destination = destination;
    mkdirSync(destination.folder, { recursive: true });
    this.#sidecar = new Sidecar({
      name: destination.tracker,
      python,
      arguments: ['-m', 'genenv_trackers', destination.tracker],
      variables: { ...environment, PYTHONPATH: trainer },
      folder: destination.folder,
    });
  }

  async open(run: TrackedRun): Promise<number | null> {
    const { tracker, project, uri, folder } = this.#destination;
    // TensorBoard's files are the run's own, and have one place.
    const own = tracker === 'tensorboard' ? folder : join(folder, run.key);
    const answer = opened.parse(await this.#ask({ open: { ...run, project, uri, folder: own } }));
    if ('refused' in answer) throw new InvalidConfig(answer.refused);
    return answer.last;
  }

  async send(epoch: TrackedEpoch): Promise<void> {
    await this.#ask({ epoch });
  }

  async close(outcome: Outcome | null): Promise<void> {
    await this.#ask({ close: { outcome } });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sidecar.close();
  }

  /** @throws SidecarFailed with what the tracker said, or if it says nothing for minutes */
  #ask(request: Record<string, unknown>): Promise<unknown> {
    return this.#sidecar.ask(request, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
  }
}
