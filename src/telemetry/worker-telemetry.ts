import type { ActivityInterceptorsFactory, RuntimeOptions } from '@temporalio/worker';
import { activityMetrics } from './activity-metrics.ts';
import { measureDisks } from './disk-metrics.ts';
import { serveMetrics } from './metrics-server.ts';
import type { MetricsAddress } from './metrics-server.ts';
import { Metrics } from './metrics.ts';
import { RunMetrics } from './run-metrics.ts';
import type { RunSource } from './run-metrics.ts';
import { createTemporalMetrics } from './temporal-metrics.ts';

export interface TelemetrySettings {
  /** Where metrics are served; undefined = nowhere. */
  metrics: MetricsAddress | undefined;
  /** Folders whose disks are measured, by the name in the label. */
  folders: Readonly<Record<string, string>>;
}

/** What a worker shows to the people on call, as far as they have turned it on. */
export interface WorkerTelemetry {
  /** Undefined if no metrics are served. */
  metrics: Metrics | undefined;
  /** For `Runtime.install`. */
  runtimeOptions: RuntimeOptions;
  /** The outermost ones. */
  activityInterceptors: (stopping: AbortSignal) => ActivityInterceptorsFactory[];
  /** Shows runs too, from now on. */
  followRuns: (source: RunSource) => void;
  close: () => void;
}

const nothing: WorkerTelemetry = {
  metrics: undefined,
  runtimeOptions: {},
  activityInterceptors: () => [],
  followRuns: () => undefined,
  close: () => undefined,
};

/** @throws Error if the port of the metrics is taken */
export async function startTelemetry(
  settings: TelemetrySettings,
  say: (message: string) => void,
): Promise<WorkerTelemetry> {
  if (settings.metrics === undefined) return nothing;
  const metrics = new Metrics();
  const { registry } = metrics;
  measureDisks(registry, settings.folders);
  const temporal = await createTemporalMetrics();
  let runs: RunMetrics | undefined;
  const readOwn = async (): Promise<string> => {
    await runs?.refresh();
    return registry.metrics();
  };
  const { url, server } = await serveMetrics(settings.metrics, [readOwn, temporal.read]);
  say(`metrics: ${url}`);
  return {
    metrics,
    runtimeOptions: { telemetryOptions: temporal.telemetryOptions },
    activityInterceptors: (stopping) => [activityMetrics(metrics, stopping)],
    followRuns: (source) => void (runs = new RunMetrics(registry, source)),
    close: () => void server.close(),
  };
}
