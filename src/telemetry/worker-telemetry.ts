import { fileURLToPath } from 'node:url';
import type { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry-v2';
import type { ActivityInterceptorsFactory, RuntimeOptions } from '@temporalio/worker';
import { activityMetrics } from './activity-metrics.ts';
import { measureDisks } from './disk-metrics.ts';
import { serveMetrics } from './metrics-server.ts';
import type { MetricsAddress } from './metrics-server.ts';
import { Metrics } from './metrics.ts';
import { labelActivities } from './phase-labels.ts';
import { RunMetrics } from './run-metrics.ts';
import type { RunSource } from './run-metrics.ts';
import { createTemporalMetrics } from './temporal-metrics.ts';
import { jsonLog, plainLog } from './worker-log.ts';
import type { WorkerLog } from './worker-log.ts';

export interface TelemetrySettings {
  /** Where metrics are served; undefined = nowhere. */
  metrics: MetricsAddress | undefined;
  /** Whether spans are sent, and logs are JSON. */
  isTraced: boolean;
  /** That OpenTelemetry reads, too. */
  environment: NodeJS.ProcessEnv;
  /** Folders whose disks are measured, by the name in the label. */
  folders: Readonly<Record<string, string>>;
}

/** What a worker shows to the people on call, as far as they have turned it on. */
export interface WorkerTelemetry extends Pick<WorkerLog, 'say'> {
  /** Undefined if no metrics are served. */
  metrics: Metrics | undefined;
  runtimeOptions: RuntimeOptions;
  /** For workers and for the bundle of the workflows. */
  plugins: OpenTelemetryPlugin[];
  workflowInterceptorModules: string[];
  /** The outermost ones. */
  activityInterceptors: (stopping: AbortSignal) => ActivityInterceptorsFactory[];
  /** Shows runs too, from now on. */
  followRuns: (source: RunSource) => void;
  close: () => Promise<void>;
}

const epochTraces = fileURLToPath(new URL('../workflows/epoch-traces.ts', import.meta.url));

/** @throws Error if the port of the metrics is taken */
export async function startTelemetry(settings: TelemetrySettings): Promise<WorkerTelemetry> {
  const { isTraced } = settings;
  const { say, logger } = isTraced ? jsonLog() : plainLog();
  // What is not used takes no memory.
  const tracing = isTraced
    ? (await import('./start-tracing.ts')).startTracing(say, settings.environment)
    : undefined;
  const served = settings.metrics && (await startMetrics(settings.metrics, settings.folders));
  if (served !== undefined) say(`metrics: ${served.url}`);
  return {
    say,
    metrics: served?.metrics,
    runtimeOptions: {
      logger,
      telemetryOptions: {
        ...served?.telemetryOptions,
        // Warnings of the native part are lines of the same kind.
        ...(isTraced && { logging: { forward: {}, filter: { core: 'WARN' } } }),
      },
    },
    plugins: tracing === undefined ? [] : [tracing.plugin],
    workflowInterceptorModules: isTraced ? [epochTraces] : [],
    activityInterceptors: (stopping) => [
      ...(isTraced ? [labelActivities] : []),
      ...(served === undefined ? [] : [activityMetrics(served.metrics, stopping)]),
    ],
    followRuns: (source) => served?.followRuns(source),
    close: async () => {
      served?.close();
      await tracing?.close();
    },
  };
}

async function startMetrics(address: MetricsAddress, folders: TelemetrySettings['folders']) {
  const metrics = new Metrics();
  const { registry } = metrics;
  measureDisks(registry, folders);
  const { telemetryOptions, read } = await createTemporalMetrics();
  let runs: RunMetrics | undefined;
  const readOwn = async (): Promise<string> => {
    await runs?.refresh();
    return registry.metrics();
  };
  const { url, server } = await serveMetrics(address, [readOwn, read]);
  return {
    url,
    metrics,
    telemetryOptions,
    followRuns: (source: RunSource) => void (runs = new RunMetrics(registry, source)),
    close: () => void server.close(),
  };
}
