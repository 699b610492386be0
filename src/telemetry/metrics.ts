import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds of requests and activities: a hit of a cache, a token, an answer, a training job. */
const secondsBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200];

/** What this process has counted since it started (docs/telemetry.md), and what it measures at a scrape. */
export class Metrics {
  readonly registry = new Registry();

  readonly modelRequests = new Counter({
    name: 'genenv_model_requests_total',
    help: 'Requests to model servers that ended; outcome is ok, aborted, or the name of the error.',
    labelNames: ['server', 'operation', 'outcome'],
    registers: [this.registry],
  });
  readonly modelRequestSeconds = new Histogram({
    name: 'genenv_model_request_duration_seconds',
    help: 'Time from sending a request to a model server to its answer or error.',
    labelNames: ['server', 'operation'],
    buckets: secondsBuckets,
    registers: [this.registry],
  });
  readonly modelRequestsUnderWay = new Gauge({
    name: 'genenv_model_requests_in_progress',
    help: 'Requests to model servers that are under way.',
    labelNames: ['server'],
    registers: [this.registry],
  });
  readonly modelTokens = new Counter({
    name: 'genenv_model_tokens_total',
    help: 'Tokens of answered requests by kind, prompt or completion; a prompt with several samples counts once.',
    labelNames: ['server', 'kind'],
    registers: [this.registry],
  });
  readonly activitySeconds = new Histogram({
    name: 'genenv_activity_duration_seconds',
    help: 'Time of an attempt at an activity; outcome is ok, failed, or stopped (cancelled, or its worker stops).',
    labelNames: ['activity', 'outcome'],
    buckets: secondsBuckets,
    registers: [this.registry],
  });
  readonly activitiesUnderWay = new Gauge({
    name: 'genenv_activities_in_progress',
    help: 'Attempts at activities that are under way.',
    labelNames: ['activity'],
    registers: [this.registry],
  });
  readonly queueWaitSeconds = new Histogram({
    name: 'genenv_activity_queue_wait_seconds',
    help: 'Time from when an attempt was due until this worker started it.',
    labelNames: ['queue'],
    buckets: secondsBuckets,
    registers: [this.registry],
  });
  readonly activityFailures = new Counter({
    name: 'genenv_activity_failures_total',
    help: 'Attempts at activities that failed, by the name of the error.',
    labelNames: ['activity', 'reason'],
    registers: [this.registry],
  });
  readonly activityRetries = new Counter({
    name: 'genenv_activity_retries_total',
    help: 'Attempts after the first, whatever ended the attempt before, the death of a worker included.',
    labelNames: ['activity'],
    registers: [this.registry],
  });
  readonly rollouts = new Counter({
    name: 'genenv_rollouts_total',
    help: 'Rollouts of shards that ended, by purpose: training or evaluation.',
    labelNames: ['purpose'],
    registers: [this.registry],
  });
  readonly epochs = new Counter({
    name: 'genenv_epochs_committed_total',
    help: 'Epochs that this worker has committed; 0, the preparation, is one.',
    registers: [this.registry],
  });
  readonly optimizerSteps = new Counter({
    name: 'genenv_optimizer_steps_total',
    help: 'Optimizer steps that training jobs reported, by kind of job.',
    labelNames: ['kind'],
    registers: [this.registry],
  });
  readonly trainingGpuBytes = new Gauge({
    name: 'genenv_training_gpu_memory_bytes',
    help: 'Memory of the GPU that the newest training job has allocated at most; 0 between jobs.',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }
}

/** Names of errors from code of users, in worlds for example, may be anything: a label must not grow. */
const MAX_REASONS = 60;
const reasons = new Set<string>();

/** The name of an error as a label. */
export function errorLabel(error: unknown): string {
  const name = error instanceof Error ? error.name : 'unknown';
  if (reasons.has(name)) return name;
  if (reasons.size >= MAX_REASONS || !/^[A-Za-z]\w{0,49}$/.test(name)) return 'other';
  reasons.add(name);
  return name;
}
