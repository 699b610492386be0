/**
 * Which queue, timeouts and retries each activity has. Workflows call activities only through these proxies, so
 * neither a worker that is told to stop nor a model server or store that is away costs one of them an attempt.
 * Activities that work on files have fixed limits; those of an epoch or an evaluation take theirs from the
 * settings.
 */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityOptions } from '@temporalio/workflow';
import type {
  ComparisonActivities,
  CpuActivities,
  EvaluationCpuActivities,
  EvaluationLlmActivities,
  GpuActivities,
  LlmActivities,
  NightlyActivities,
} from '../activities/index.ts';
import type { PayloadUnreadable, WorkerStopped } from '../types/activity-types.ts';
import type { PhaseLimits } from '../types/run-state.ts';
import type { EvaluationPlan } from '../types/evaluation-types.ts';
import { modelOutages } from './model-outages.ts';
import { outageTypes } from './outage-failures.ts';

/** Task queues: workflows, and activities by what they wait for. A worker may serve any of them. */
export const queues = {
  workflows: 'genenv',
  llm: 'genenv-llm',
  cpu: 'genenv-cpu',
  gpu: 'genenv-gpu',
} as const;

const retry = {
  initialInterval: '200ms',
  backoffCoefficient: 2,
  maximumInterval: '30s',
  // What is away is waited for by the workflow, not by retries of Temporal.
  nonRetryableErrorTypes: outageTypes,
} as const;

/** Seconds of work on files. The heartbeat timeout says how soon the death of a worker is noticed. */
const fileWork = {
  taskQueue: queues.cpu,
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10s',
  retry: { ...retry, maximumAttempts: 100 },
} as const;

/** Work on files that can go without a heartbeat for minutes on a busy machine. */
const slowFileWork = { ...fileWork, heartbeatTimeout: '5 minutes' } as const;

/** Reads the experiment file: wrong input fails at once and for good. */
export const { parseExperiment } = createProxies<Pick<CpuActivities, 'parseExperiment'>>({
  taskQueue: queues.cpu,
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10s',
  retry,
});

/** What a night does besides its experiment. */
export const nightActivities = createProxies<NightlyActivities>(fileWork);

/** What a comparison does besides its experiments. */
export const comparisonActivities =
  createProxies<Omit<ComparisonActivities, 'summarizeComparison'>>(fileWork);

/** The summary of a comparison. Simulates rankings, seconds for each probed agent. */
export const { summarizeComparison } =
  createProxies<Pick<ComparisonActivities, 'summarizeComparison'>>(slowFileWork);

/** What an evaluation does besides asking and judging. Starts the engines of suites, seconds for each. */
export const evaluationActivities = createProxies<Omit<EvaluationCpuActivities, 'judgeCases'>>(slowFileWork);

type CaseActivities = EvaluationLlmActivities & Pick<EvaluationCpuActivities, 'judgeCases'>;

/** What asks and what judges the cases of an evaluation. */
export function proxyCaseActivities({
  id,
  heartbeatSeconds,
  maxAttempts,
  maxOutageSeconds,
}: Pick<EvaluationPlan, 'id' | 'heartbeatSeconds' | 'maxAttempts' | 'maxOutageSeconds'>): CaseActivities {
  const limits = longWork(id, heartbeatSeconds, maxAttempts);
  const { answerCases } = createProxies<EvaluationLlmActivities>(
    { taskQueue: queues.llm, ...limits },
    maxOutageSeconds,
  );
  const { judgeCases } = createProxies<CaseActivities>(
    { taskQueue: queues.cpu, ...limits },
    maxOutageSeconds,
  );
  return { answerCases, judgeCases };
}

/**
 * Queues of the phases that wait for a model server or need the device; all others compute. The compiler
 * refuses a table that lacks one.
 */
const phaseQueues: Record<keyof LlmActivities, 'llm'> & Record<keyof GpuActivities, 'gpu'> = {
  prepareRun: 'llm',
  writePool: 'llm',
  generateTasks: 'llm',
  rollOut: 'llm',
  publishPolicy: 'llm',
  checkColdStart: 'llm',
  gateAgent: 'llm',
  evaluatePolicy: 'llm',
  crossTasks: 'llm',
  crossPlay: 'llm',
  probeTasks: 'llm',
  probeAttempts: 'llm',
  warmUp: 'gpu',
  trainAgent: 'gpu',
  trainEnvironment: 'gpu',
  measureGradients: 'gpu',
};

/** The activities of a run. Its file is parsed before anything else, under limits of its own. */
type EpochActivities = Omit<CpuActivities, 'parseExperiment'> & LlmActivities & GpuActivities;

/** The activities of a run, under the limits of its settings. */
export function proxyPhaseActivities({
  heartbeatSeconds,
  maxPhaseAttempts,
  maxOutageSeconds,
}: PhaseLimits): EpochActivities {
  // An epoch's id begins with its experiment's.
  const experimentId = workflowInfo().workflowId.split('/')[0]!;
  const limits = longWork(experimentId, heartbeatSeconds, maxPhaseAttempts);
  const queueByName: Partial<Record<string, 'llm' | 'gpu'>> = phaseQueues;
  return createProxies<EpochActivities>((name) => {
    const queue = queueByName[name] ?? 'cpu';
    return { taskQueue: queues[queue], ...limits, ...(queue === 'gpu' && trainingLimit) };
  }, maxOutageSeconds);
}

/**
 * A training job may wait in the queue of a cluster for weeks, and then train for days. It heartbeats all the
 * time, which shows whether its worker lives. Temporal asks for a limit; this is one that no job reaches.
 */
const trainingLimit = { startToCloseTimeout: '365 days' } as const;

/**
 * Work for hours at most, unless it trains: each activity heartbeats as it makes progress, so a worker that died
 * is noticed within the heartbeat timeout. What waits for one queue under different ids takes turns, if the
 * server supports fairness; a key has at most 64 bytes.
 */
const longWork = (id: string, heartbeatSeconds: number, maximumAttempts: number) =>
  ({
    startToCloseTimeout: '1 day',
    heartbeatTimeout: heartbeatSeconds * 1000,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...retry, maximumAttempts },
    priority: { fairnessKey: id.slice(0, 64) },
  }) satisfies ActivityOptions;

type Activity = (input: never) => Promise<unknown>;

/**
 * Proxies for all activities of a type, each scheduled again when the worker that ran it was told to stop, and
 * while a model server or the store is away.
 */
function createProxies<Activities extends Record<string, Activity>>(
  options: ActivityOptions | ((name: keyof Activities) => ActivityOptions),
  maxOutageSeconds?: number,
): Activities {
  return new Proxy({} as Activities, {
    get: (_, name: keyof Activities & string) => {
      const proxies = proxyActivities(typeof options === 'function' ? options(name) : options);
      return (input: never) =>
        modelOutages.untilAnswered(() => retryForWorker(() => proxies[name]!(input)), maxOutageSeconds);
    },
  });
}

const workerStopped: WorkerStopped = 'WorkerStopped';
const payloadUnreadable: PayloadUnreadable = 'PayloadUnreadable';

/**
 * Schedules an activity again if its worker was told to stop, or could not decrypt what the activity is given.
 * Not bounded: each round of the first takes a worker that was stopped, each of the second all attempts that
 * the server makes. A cancelled workflow schedules nothing more.
 */
async function retryForWorker(run: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const type = activityFailureType(error);
      if (type === payloadUnreadable) await sleep('10s');
      else if (type !== workerStopped) throw error;
    }
  }
}

const activityFailureType = (error: unknown): string | null | undefined =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure
    ? error.cause.type
    : undefined;
