import { join } from 'node:path';
import type { Dependencies } from '../src/activities/dependencies.ts';
import { createCpuActivities, createGpuActivities, createLlmActivities } from '../src/activities/index.ts';
import { benchmarks, suiteHost } from '../src/benchmarks/registry.ts';
import { SuiteLoader } from '../src/benchmarks/suite-loader.ts';
import { createChatClient } from '../src/inference/chat-client.ts';
import { createAdapterServer } from '../src/inference/create-adapter-server.ts';
import { createEmbeddingClient } from '../src/inference/embedding-client.ts';
import { createPolicyClient } from '../src/inference/create-policy-client.ts';
import { Python } from '../src/processes/python.ts';
import { ComparisonFolder, EvaluationFolder, NightlyFolder } from '../src/runs/result-folders.ts';
import { RunFolder } from '../src/runs/run-folder.ts';
import type { ActivityContext } from '../src/runtime/activity-context.ts';
import { dataFileReader } from '../src/store/data-files.ts';
import { ObjectStore } from '../src/store/object-store.ts';
import { PhaseCache } from '../src/store/phase-cache.ts';
import type { Launcher } from '../src/training/launcher.ts';
import type { CommittedEpoch } from '../src/types/activity-types.ts';
import type { RunPlan } from '../src/types/run-state.ts';
import { runEpochPipeline, runPreparation } from '../src/epochs/epoch-pipeline.ts';
import type { PhaseRunner } from '../src/epochs/pipeline-activities.ts';
import { worldLoader } from '../src/worlds/registry.ts';
import { permitLoopback } from './permitted-servers.ts';

/** Dependencies with a real store in a folder, a model server and a launcher. */
export function plainDependencies(
  home: string,
  modelServer: string,
  launcher: Launcher,
  attempt: Partial<ActivityContext> = {},
): Dependencies {
  const store = join(home, 'store');
  return {
    store: new ObjectStore(store),
    keys: new PhaseCache(store),
    loadWorld: worldLoader(undefined, ['/']),
    readDataFile: dataFileReader(['/']),
    requireModelFolder: () => Promise.resolve(),
    quotas: {},
    runFolder: (id) => new RunFolder(join(home, 'runs'), id),
    nightlyFolder: (name) => new NightlyFolder(join(home, 'nightly'), name),
    comparisonFolder: (id) => new ComparisonFolder(join(home, 'comparisons'), id),
    evaluationFolder: (id) => new EvaluationFolder(join(home, 'evaluations'), id),
    suites: new SuiteLoader(benchmarks, suiteHost(join(home, 'benchmarks'), permitLoopback)),
    policyClient: (serving, timeoutMs) =>
      createPolicyClient(serving, { baseUrl: modelServer, apiKey: undefined, timeoutMs }),
    chatClient: (server, timeoutMs) =>
      createChatClient({
        baseUrl: 'baseUrl' in server && typeof server.baseUrl === 'string' ? server.baseUrl : modelServer,
        apiKey: undefined,
        timeoutMs,
      }),
    embeddingClient: ({ baseUrl }, timeoutMs) =>
      createEmbeddingClient({ baseUrl, apiKey: undefined, timeoutMs }),
    adapterServers: (serving) => [
      createAdapterServer(serving, { baseUrl: modelServer, apiKey: undefined, timeoutMs: 20_000 }),
    ],
    launcher: () => launcher,
    python: new Python('python3', process.env),
    devices: home,
    onShutdown: 'checkpoint',
    searchAttributes: false,
    onDamage: () => undefined,
    activityContext: () => ({
      signal: new AbortController().signal,
      heartbeat: () => undefined,
      stalled: new AbortController().signal,
      onHeartbeat: () => undefined,
      isWorkerStopping: () => false,
      isSuperseded: () => false,
      ...attempt,
    }),
  };
}

export const createActivities = (dependencies: Dependencies) => ({
  ...createLlmActivities(dependencies),
  ...createCpuActivities(dependencies),
  ...createGpuActivities(dependencies),
});
export type Activities = ReturnType<typeof createActivities>;

/** A run up to its first epoch: what the workflow `experiment` does before its loop. */
export async function begin(
  activities: Activities,
  id: string,
  file: unknown,
): Promise<{ plan: RunPlan; prepared: CommittedEpoch }> {
  const plan = await activities.parseExperiment({ id, file });
  return { plan, prepared: await runPreparation(activities, plan, plainRunner) };
}

/** One epoch in a plain loop: the phases of the workflow `epoch`, without Temporal. */
export const plainEpoch = (
  activities: Activities,
  plan: RunPlan,
  { epoch: last, state }: CommittedEpoch,
): Promise<CommittedEpoch> => runEpochPipeline(activities, { ...plan, epoch: last + 1, state }, plainRunner);

const plainRunner: PhaseRunner = { run: (_, work) => work(), seconds: () => ({}) };
