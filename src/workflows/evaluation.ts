import {
  ActivityCancellationType,
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  startChild,
  WorkflowIdReusePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { EvaluationCpuActivities, EvaluationLlmActivities } from '../activities/index.ts';
import { evaluationOfEpoch, isEvaluationDue } from '../evaluation/evaluation-id.ts';
import type { CommittedEpoch, WorkflowSettings } from '../types/activity-types.ts';
import type {
  AnswerInput,
  CaseShard,
  EvaluationPlan,
  EvaluationProgress,
  ReadySuite,
  Scored,
  ShardRecord,
} from '../types/evaluation-types.ts';
import { evaluationActivities, queues, retryOnWorkerShutdown } from './activity-proxies.ts';
import { rootMessage } from './child-epoch.ts';
import { mapConcurrently } from './map-concurrent.ts';
import { evaluationProgressQuery } from './messages.ts';

const { planEvaluation, planRescoring, scoreEvaluation } = evaluationActivities;

/**
 * Evaluates a policy on benchmarks: shards of cases are put to it and judged, then the figures are made.
 * `file` is the content of an evaluation file, the id the workflow id. What is answered and judged is kept,
 * so starting the same id again goes on, on an empty Temporal server too.
 */
export async function evaluation(file: unknown): Promise<Scored> {
  const id = workflowInfo().workflowId;
  return followed(id, async (tell) => {
    const plan = await planEvaluation({ id, file: file ?? null });
    const { answerCases, judgeCases } = does(plan);
    tell(begun(plan));
    const shards = await mapConcurrently(
      plan.shards,
      plan.concurrency,
      async (shard): Promise<ShardRecord> => {
        const input = inputOf(plan, shard);
        const answered = await answerCases(input);
        tell(({ answered: count }) => ({ answered: count + 1 }));
        const verdicts = await judgeCases({ ...input, answers: answered.answers, judged: 1 });
        tell(({ judged }) => ({ judged: judged + 1 }));
        return { ...shard, answered, verdicts };
      },
    );
    tell({ status: 'scoring' });
    return scoreEvaluation({ ...recordOf(plan), suites: plan.suites, shards, judged: 1 });
  });
}

/**
 * Judges the answers of an evaluation that has ended again, by the rules and data that are here now. No model
 * is asked.
 */
export async function rescoring({ evaluation: id }: { evaluation: string }): Promise<Scored> {
  return followed(id, async (tell) => {
    const plan = await planRescoring({ id });
    const judged = plan.judged + 1;
    tell({ ...begun(plan), status: 'judging', answered: plan.shards.length });
    const shards = await mapConcurrently(
      plan.shards,
      plan.concurrency,
      async ({ answered, ...shard }): Promise<ShardRecord> => {
        const verdicts = await does(plan).judgeCases({
          ...inputOf(plan, shard),
          answers: answered.answers,
          judged,
        });
        tell((before) => ({ judged: before.judged + 1 }));
        return { suite: shard.suite, ...rangeOf(shard), answered, verdicts };
      },
    );
    tell({ status: 'scoring' });
    return scoreEvaluation({ ...recordOf(plan), suites: plan.suites, shards, judged });
  });
}

type Tell = (
  changes: Partial<EvaluationProgress> | ((before: EvaluationProgress) => Partial<EvaluationProgress>),
) => void;

async function followed(id: string, work: (tell: Tell) => Promise<Scored>): Promise<Scored> {
  const progress: EvaluationProgress = {
    evaluation: id,
    status: 'preparing',
    shards: 0,
    answered: 0,
    judged: 0,
    skipped: [],
  };
  setHandler(evaluationProgressQuery, () => progress);
  const tell: Tell = (changes) =>
    setCurrentDetails(
      evaluationDetails(Object.assign(progress, typeof changes === 'function' ? changes(progress) : changes)),
    );
  try {
    const scored = await work(tell);
    tell({ status: 'finished' });
    return scored;
  } catch (error) {
    tell({ status: CancellationScope.current().consideredCancelled ? 'cancelled' : 'failed' });
    throw error;
  }
}

const begun = ({
  suites,
  shards,
}: {
  suites: EvaluationPlan['suites'];
  shards: readonly CaseShard[];
}): Partial<EvaluationProgress> => ({
  status: 'asking',
  shards: shards.length,
  skipped: suites.filter(({ skipped }) => skipped !== null).map(({ name }) => name),
});

type Planned = Pick<EvaluationPlan, 'id' | 'evaluation' | 'identity' | 'suites'>;
const recordOf = ({
  id,
  evaluation: record,
  identity,
}: Planned): Pick<Planned, 'id' | 'evaluation' | 'identity'> => ({ id, evaluation: record, identity });
const rangeOf = ({ shard, from, to }: CaseShard): Omit<CaseShard, 'suite'> => ({ shard, from, to });
const inputOf = (plan: Planned, shard: CaseShard): AnswerInput => ({
  ...recordOf(plan),
  suite: plan.suites.find((one): one is ReadySuite => one.name === shard.suite && one.skipped === null)!,
  ...rangeOf(shard),
});

/** Evaluations and experiments that wait for one queue take turns, where the server knows fairness. */
function does({
  id,
  heartbeatSeconds,
  maxAttempts,
}: Pick<EvaluationPlan, 'id' | 'heartbeatSeconds' | 'maxAttempts'>): Pick<
  EvaluationLlmActivities,
  'answerCases'
> &
  Pick<EvaluationCpuActivities, 'judgeCases'> {
  const beating = {
    startToCloseTimeout: '1 day',
    heartbeatTimeout: heartbeatSeconds * 1000,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: '200ms',
      backoffCoefficient: 2,
      maximumInterval: '30s',
      maximumAttempts: maxAttempts,
    },
    priority: { fairnessKey: id.slice(0, 64) },
  } as const;
  const { answerCases } = proxyActivities<EvaluationLlmActivities>({ taskQueue: queues.llm, ...beating });
  const { judgeCases } = proxyActivities<EvaluationCpuActivities>({ taskQueue: queues.cpu, ...beating });
  return retryOnWorkerShutdown({ answerCases, judgeCases });
}

/** The evaluation at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
export function evaluationDetails({
  evaluation,
  status,
  shards,
  answered,
  judged,
  skipped,
}: EvaluationProgress): string {
  return [
    `**${evaluation}**: ${status}, **${answered}** of ${shards} shards answered, ${judged} judged`,
    ...(skipped.length === 0 ? [] : ['', ...skipped.map((name) => `- ${name} is skipped`)]),
  ].join('\n');
}

/**
 * Evaluates the agent on benchmarks where the experiment file asks for it after this epoch; what was
 * evaluated before is found. The run goes on whatever comes of it.
 * @returns why it could not be done; undefined where it was done, or is not asked for
 */
export async function evaluateOnBenchmarks(
  { benchmarks, epochs }: WorkflowSettings,
  { epoch, line }: CommittedEpoch,
): Promise<string | undefined> {
  if (benchmarks === undefined || !isEvaluationDue(epoch, benchmarks, epochs)) return undefined;
  const run = workflowInfo().workflowId;
  const id = evaluationOfEpoch(run, epoch, line);
  const { every, ...how } = benchmarks;
  try {
    const child = await startChild(evaluation, {
      args: [{ name: id, policy: { type: 'run', run, epoch }, ...how }],
      workflowId: id,
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- children have no conflict policy yet
      workflowIdReusePolicy: WorkflowIdReusePolicy.TERMINATE_IF_RUNNING,
      staticSummary: `the agent of ${run} after epoch ${epoch}, as after every ${every}`,
    });
    await child.result();
    return undefined;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return `epoch ${epoch}: it could not be evaluated on benchmarks: ${rootMessage(error)}`;
  }
}
