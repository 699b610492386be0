import type { SuiteLoader } from '../benchmarks/registry.ts';
import type { ServingSettings, TrainerSettings } from '../config/policies.ts';
import type { ChatServer } from '../inference/chat-client.ts';
import type { PolicyServer } from '../inference/policy-client.ts';
import type { ComparisonFolder, EvaluationFolder, NightlyFolder } from '../runs/result-folders.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import type { OnDamage } from '../store/errors.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { PhaseKeys } from '../store/phase-cache.ts';
import type { Launcher } from '../training/launchers.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import type { Attempt } from './activity-context.ts';

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
