import type { ServingSettings, TrainerSettings } from '../contracts/policy-settings.ts';
import type { ChatServer } from '../policies/chat-server.ts';
import type { PolicyServer } from '../policies/policy-server.ts';
import type { ComparisonFolder } from '../store/comparison-folder.ts';
import type { OnDamage } from '../store/errors.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { NightlyFolder } from '../store/nightly-folder.ts';
import type { PhaseKeys } from '../store/phase-keys.ts';
import type { RunFolder } from '../store/run-folder.ts';
import type { EvaluationFolder } from '../store/evaluation-folder.ts';
import type { SuiteLoader } from '../benchmarks/suite-loader.ts';
import type { Launcher } from '../training/launcher.ts';
import type { LoadWorld } from '../worlds/load-world.ts';

/** The attempt at an activity that is under way: Temporal's context in a worker, a plain one elsewhere. */
export interface Attempt {
  /** Aborted when the activity is cancelled, or its worker stops. */
  signal: AbortSignal;
  /** Real progress only: a beat says that work was done since the last one. */
  heartbeat: (details: unknown) => void;
  /** Calls back at each beat of this attempt from now on, whoever gives it. */
  onBeat: (listener: () => void) => void;
  /** True where the signal means that the worker stops, not that a user cancels. */
  workerStops: () => boolean;
}

/** Everything that activities reach the world through. The composition root makes it. */
export interface Ports {
  store: ObjectStore;
  keys: PhaseKeys;
  runFolder: (id: string) => RunFolder;
  nightlyFolder: (name: string) => NightlyFolder;
  world: LoadWorld;
  comparisonFolder: (id: string) => ComparisonFolder;
  evaluationFolder: (id: string) => EvaluationFolder;
  suites: SuiteLoader;
  policyServer: (serving: ServingSettings, timeoutMs: number) => PolicyServer;
  /** A model by chat completions: any OpenAI-compatible server, or the embedded one (null). */
  chatServer: (server: { baseUrl: string; apiKeyEnv: string | null } | null, timeoutMs: number) => ChatServer;
  /** Tells a server behind the OpenAI API to load new weights under a name; loading a name twice changes nothing. */
  loadOnServer: (
    serving: Extract<ServingSettings, { type: 'openai' }>,
    name: string,
    folder: string,
  ) => Promise<void>;
  launcher: (trainer: TrainerSettings) => Launcher;
  python: string;
  /** Folder for locks on this machine's devices. */
  devices: string;
  /** Whether a training job goes on (`detach`) or checkpoints when its worker stops. */
  onShutdown: 'checkpoint' | 'detach';
  /** Whether the search attributes are registered in the namespace. */
  searchAttributes: boolean;
  /** Told of files that are damaged, and were handled. */
  onDamage: OnDamage;
  attempt: () => Attempt;
}
