import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Dependencies } from '../activities/dependencies.ts';
import type { KeepAlive } from '../async/keep-alive.ts';
import { benchmarks, suiteHost } from '../benchmarks/registry.ts';
import { SuiteLoader } from '../benchmarks/suite-loader.ts';
import { modelFolderCheck } from '../config/permitted-folders.ts';
import { readSecret } from '../config/secrets.ts';
import { permitServer, workerResolver } from '../inference/endpoints.ts';
import { Python } from '../processes/python.ts';
import { ComparisonFolder, EvaluationFolder, NightlyFolder } from '../runs/result-folders.ts';
import { RunFolder } from '../runs/run-folder.ts';
import type { ActivityContext } from '../runtime/activity-context.ts';
import { dataFileReader } from '../store/data-files.ts';
import type { Damage } from '../store/errors.ts';
import { ObjectStore } from '../store/object-store.ts';
import { PhaseCache } from '../store/phase-cache.ts';
import { createLaunchers } from './launchers.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { activeTraceParent } from '../telemetry/tracing.ts';
import { recordTraining } from '../telemetry/training-metrics.ts';
import { worldLoader } from '../worlds/registry.ts';
import { createModelClients } from './model-servers.ts';
import type { WorkerSettings } from './settings.ts';

/** Creates the dependencies. Only here do trainer processes get their environment. */
export function createDependencies(
  settings: WorkerSettings,
  environment: NodeJS.ProcessEnv,
  options: {
    attempt: () => ActivityContext;
    keepAlive: KeepAlive;
    searchAttributes: boolean;
    onDamage: (damage: Damage) => void;
    metrics?: Metrics | undefined;
  },
): Dependencies {
  const { store, runs, devices, onShutdown } = settings;
  const python = new Python(settings.python, environment);
  const { metrics } = options;
  mkdirSync(devices, { recursive: true });
  const resolveServers = workerResolver(settings.endpoints, environment);
  return {
    // To hash, send or fetch a checkpoint of many gigabytes takes longer than a heartbeat's timeout, and is progress.
    store: new ObjectStore(store, {
      onDamage: options.onDamage,
      onHashed: (progress) => options.attempt().heartbeat({ hashing: progress }),
      onTransferred: (progress) => options.attempt().heartbeat({ transferring: progress }),
    }),
    keys: new PhaseCache(store, { onDamage: options.onDamage }),
    loadWorld: worldLoader(settings.worlds, settings.dataFolders),
    readDataFile: dataFileReader(settings.dataFolders),
    requireModelFolder: modelFolderCheck(settings.modelFolders),
    quotas: settings.quotas,
    runFolder: (id) => new RunFolder(runs, id),
    // Next to the runs, which hosts share.
    nightlyFolder: (name) => new NightlyFolder(join(runs, '..', 'nightly'), name),
    comparisonFolder: (id) => new ComparisonFolder(join(runs, '..', 'comparisons'), id),
    evaluationFolder: (id) => new EvaluationFolder(join(runs, '..', 'evaluations'), id),
    suites: new SuiteLoader(
      benchmarks,
      suiteHost(settings.benchmarks, permitServer(resolveServers)),
      options.keepAlive,
    ),
    ...createModelClients(settings, resolveServers, options.keepAlive, {
      metrics,
      tokenOf: (name) => readSecret(environment, name),
    }),
    launcher: createLaunchers(settings, python, resolveServers),
    python,
    devices,
    onShutdown,
    traceParent: activeTraceParent,
    ...(metrics && { onTraining: (report) => recordTraining(metrics, report) }),
    searchAttributes: options.searchAttributes,
    onDamage: options.onDamage,
    activityContext: options.attempt,
  };
}
