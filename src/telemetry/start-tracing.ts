import { diag, DiagLogLevel } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry-v2';
import type { WorkerOptions } from '@temporalio/worker';
import { problemKind, rememberCollectorKeys } from './collector.ts';
import { LabellingProcessor } from './span-processor.ts';

/** Spans of workflows, activities, requests to model servers and training jobs, sent by OTLP over HTTP. */
export interface Tracing {
  plugin: OpenTelemetryPlugin;
  /** Sends what is left, as far as the collector takes it in time. */
  close: () => Promise<void>;
}

const CLOSE_MS = 3_000;

/** Between two lines about a collector that takes no spans. */
const REMINDER_MS = 5 * 60_000;

/**
 * Starts to trace this process, by the standard variables OTEL_*, which OpenTelemetry reads itself.
 * @param say is told now and then that spans are lost
 * @param environment whose keys of the collector are kept out of the log
 */
export function startTracing(say: (message: string) => void, environment: NodeJS.ProcessEnv): Tracing {
  rememberCollectorKeys(environment);
  let saidAt = -Infinity;
  const reportProblem = (problem: string): void => {
    if (Date.now() - saidAt < REMINDER_MS) return;
    saidAt = Date.now();
    say(`traces: some spans are lost: ${problemKind(problem)}`);
  };
  const ignore = (): void => undefined;
  const logger = { error: reportProblem, warn: ignore, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, DiagLogLevel.ERROR);
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'genenv-worker' }))
    .merge(detectResources({ detectors: [envDetector] }));
  const spanProcessor = new LabellingProcessor(new BatchSpanProcessor(new OTLPTraceExporter()));
  const provider = new NodeTracerProvider({ resource, spanProcessors: [spanProcessor] });
  provider.register();
  return {
    plugin: new OutermostTracing({ resource, spanProcessor }),
    close: async () => {
      const late = new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

/** Puts the span of an activity around all other interceptors: an attempt may fail in one of them. */
class OutermostTracing extends OpenTelemetryPlugin {
  override configureWorker(options: WorkerOptions): WorkerOptions {
    const configured = super.configureWorker(options);
    const outer = configured.interceptors?.activity?.slice(options.interceptors?.activity?.length) ?? [];
    const inner = options.interceptors?.activity ?? [];
    return { ...configured, interceptors: { ...configured.interceptors, activity: [...outer, ...inner] } };
  }
}
