/**
 * Workflows of evaluations: one asks a policy and judges its answers, one judges stored answers again. Both
 * map shards of cases through activities and end in the same scoring. An experiment starts an evaluation as a
 * child workflow.
 */
import {
  CancellationScope,
  isCancellation,
  patched,
  setCurrentDetails,
  setHandler,
  startChild,
  WorkflowIdReusePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import { evaluationOfEpoch, isEvaluationDue } from '../evaluation/evaluation-id.ts';
import type { CommittedEpoch } from '../types/activity-types.ts';
import type { WorkflowSettings } from '../types/run-state.ts';
import type {
  AnswerInput,
  CaseShard,
  PlannedSuite,
  ReadySuite,
  ShardRecord,
} from '../types/evaluation-inputs.ts';
import type { EvaluationPlan, EvaluationProgress, Scored } from '../types/evaluation-types.ts';
import { evaluationActivities, proxyCaseActivities } from './activity-proxies.ts';
import { rootMessage } from './child-epoch.ts';
import { mapConcurrent } from './map-concurrent.ts';
import { evaluationProgressQuery } from './messages.ts';
import { modelOutages } from './model-outages.ts';
import { outageText } from './outage-text.ts';

/**
 * Evaluates a policy on benchmarks: it is asked shards of cases, its answers are judged, then the scores are
 * computed. `file` is the content of an evaluation file; the evaluation's id is the workflow id. Answers and
 * verdicts are stored, so starting the same id again resumes, on an empty Temporal server too.
 */
export async function evaluationWorkflow(file: unknown): Promise<Scored> {
  const id = workflowInfo().workflowId;
  return withProgress(id, async (publishProgress) => {
    const plan = await evaluationActivities.planEvaluation({ id, file: file ?? null });
    const { answerCases, judgeCases } = proxyCaseActivities(plan);
    publishProgress(progressAtStart(plan));
    const evaluateShard = async (shard: CaseShard): Promise<ShardRecord> => {
      const input = shardInput(plan, shard);
      const answered = await answerCases(input);
      publishProgress((before) => ({ answered: before.answered + 1 }));
      const verdicts = await judgeCases({ ...input, answers: answered.answers, judged: 1 });
      publishProgress((before) => ({ judged: before.judged + 1 }));
      return { ...shard, answered, verdicts };
    };
    const shards = await mapConcurrent(plan.shards, plan.concurrency, evaluateShard);
    publishProgress({ status: 'scoring' });
    return evaluationActivities.scoreEvaluation({
      ...evaluationFields(plan),
      suites: plan.suites,
      shards,
      judged: 1,
    });
  });
}

/**
 * Judges the answers of an evaluation that has ended again, by the rules and data that are here now. No model
 * is asked.
 */
export async function rescoringWorkflow({ evaluation: id }: { evaluation: string }): Promise<Scored> {
  return withProgress(id, async (publishProgress) => {
    const plan = await evaluationActivities.planRescoring({ id });
    const { judgeCases } = proxyCaseActivities(plan);
    const judged = plan.judged + 1;
    publishProgress({ ...progressAtStart(plan), status: 'judging', answered: plan.shards.length });
    const judgeShard = async ({ answered, ...shard }: AnsweredShard): Promise<ShardRecord> => {
      const input = shardInput(plan, shard);
      const verdicts = await judgeCases({ ...input, answers: answered.answers, judged });
      publishProgress((before) => ({ judged: before.judged + 1 }));
      return { suite: shard.suite, ...caseRange(shard), answered, verdicts };
    };
    const shards = await mapConcurrent(plan.shards, plan.concurrency, judgeShard);
    publishProgress({ status: 'scoring' });
    return evaluationActivities.scoreEvaluation({
      ...evaluationFields(plan),
      suites: plan.suites,
      shards,
      judged,
    });
  });
}

type AnsweredShard = Omit<ShardRecord, 'verdicts'>;

type Changes = Partial<EvaluationProgress>;
type PublishProgress = (changes: Changes | ((before: EvaluationProgress) => Changes)) => void;

/** Answers the progress query while the work runs, and reports how it ended. */
async function withProgress(
  id: string,
  work: (publishProgress: PublishProgress) => Promise<Scored>,
): Promise<Scored> {
  const progress: EvaluationProgress = {
    evaluation: id,
    status: 'preparing',
    shards: 0,
    answered: 0,
    judged: 0,
    skipped: [],
    waiting: null,
  };
  setHandler(evaluationProgressQuery, () => progress);
  const publishProgress: PublishProgress = (changes) => {
    Object.assign(progress, typeof changes === 'function' ? changes(progress) : changes);
    setCurrentDetails(evaluationDetails(progress));
  };
  modelOutages.show({
    phase: () => progress.status,
    onChange: () => publishProgress({ waiting: modelOutages.current()?.outage ?? null }),
  });
  try {
    const scored = await work(publishProgress);
    publishProgress({ status: 'finished' });
    return scored;
  } catch (error) {
    publishProgress({ status: CancellationScope.current().consideredCancelled ? 'cancelled' : 'failed' });
    throw error;
  }
}

type ShardedSuites = { suites: EvaluationPlan['suites']; shards: readonly CaseShard[] };

const progressAtStart = ({ suites, shards }: ShardedSuites): Changes => ({
  status: 'asking',
  shards: shards.length,
  skipped: suites.filter(({ skipped }) => skipped !== null).map(({ name }) => name),
});

type EvaluationFields = Pick<EvaluationPlan, 'id' | 'evaluation' | 'identity'>;

const evaluationFields = ({ id, evaluation, identity }: EvaluationFields): EvaluationFields => ({
  id,
  evaluation,
  identity,
});

const caseRange = ({ shard, from, to }: CaseShard): Omit<CaseShard, 'suite'> => ({ shard, from, to });

function shardInput(plan: EvaluationFields & Pick<EvaluationPlan, 'suites'>, shard: CaseShard): AnswerInput {
  const isSuiteOfShard = (suite: PlannedSuite): suite is ReadySuite =>
    suite.name === shard.suite && suite.skipped === null;
  return { ...evaluationFields(plan), suite: plan.suites.find(isSuiteOfShard)!, ...caseRange(shard) };
}

/** The evaluation at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
function evaluationDetails({
  evaluation,
  status,
  shards,
  answered,
  judged,
  skipped,
  waiting,
}: EvaluationProgress): string {
  return [
    `**${evaluation}**: ${status}, **${answered}** of ${shards} shards answered, ${judged} judged`,
    ...(waiting === null ? [] : ['', `**${outageText(waiting)}**`]),
    ...(skipped.length === 0 ? [] : ['', ...skipped.map((name) => `- ${name} is skipped`)]),
  ].join('\n');
}

/**
 * Evaluates the agent on benchmarks if the settings say so for this epoch; what was evaluated before is
 * found. The run continues whatever the result.
 * @returns why it could not be done; undefined if it was done, or is not due
 */
export async function evaluateOnBenchmarks(
  { benchmarks, epochs, maxOutageSeconds }: WorkflowSettings,
  { epoch, line }: CommittedEpoch,
): Promise<string | undefined> {
  if (benchmarks === undefined || !isEvaluationDue(epoch, benchmarks, epochs)) return undefined;
  const run = workflowInfo().workflowId;
  const id = evaluationOfEpoch(run, epoch, line);
  const { every, initial, ...options } = benchmarks;
  const limit = maxOutageSeconds === undefined ? {} : { maxOutageSeconds };
  try {
    const child = await startChild<typeof evaluationWorkflow>('evaluation', {
      args: [{ name: id, policy: { type: 'run', run, epoch }, ...limit, ...options }],
      workflowId: id,
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- children have no conflict policy yet
      workflowIdReusePolicy: WorkflowIdReusePolicy.TERMINATE_IF_RUNNING,
      staticSummary:
        initial === true && epoch === 0
          ? `the agent that ${run} begins with`
          : `the agent of ${run} after epoch ${epoch}, as after every ${every}`,
    });
    await child.result();
    return undefined;
  } catch (error) {
    // Of the run; an evaluation that is cancelled by itself is one that failed.
    if (CancellationScope.current().consideredCancelled) throw error;
    if (isCancellation(error) && !patched('notes-cancelled-evaluation')) throw error;
    return `epoch ${epoch}: it could not be evaluated on benchmarks: ${rootMessage(error)}`;
  } finally {
    modelOutages.dropChild(id);
  }
}
