/** Plans of an evaluation, and of judging its answers again. */
import type { Suite } from '../../benchmarks/suite.ts';
import { evaluationIdPattern, evaluationIdRule, parseEvaluation } from '../../config/evaluation.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { changedFields } from '../../config/retune.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import { experimentInEffect } from '../../runs/settings-in-effect.ts';
import { runOnce } from '../../runtime/run-once.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { ParseInput } from '../../types/activity-inputs.ts';
import type { CaseShard, PlannedSuite, ShardRecord } from '../../types/evaluation-inputs.ts';
import type { EvaluatedPolicy, EvaluationPlan } from '../../types/evaluation-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  casesOf,
  evaluationKey,
  identityFields,
  planEach,
  readRecord,
  refusedByName,
  suiteSettings,
  withSuite,
} from './evaluation-inputs.ts';
import type { EvaluationRecord } from './evaluation-inputs.ts';

/** Each is some 12 events of the workflow's history, which Temporal ends at 51,200, and 640 bytes of one payload. */
const MAX_SHARDS = 2_000;

/**
 * Reads the file that the workflow was started with, finds the policy, and opens every suite. The same id
 * with the same file is the same evaluation, of the same policy, even if its run has trained on since; with
 * another file it is refused.
 * @throws InvalidConfig naming the field
 */
export function createPlanEvaluation(dependencies: Dependencies) {
  return async ({ id, file }: ParseInput): Promise<EvaluationPlan> => {
    if (!evaluationIdPattern.test(id))
      throw new InvalidConfig(
        `workflow id: got ${JSON.stringify(id)}; it is the evaluation's id: ${evaluationIdRule}`,
      );
    const evaluation = parseEvaluation(file);
    const suites = dependencies.suites.select(evaluation.suites);
    const refused = refusedByName(suites, evaluation);
    if (refused !== undefined) throw new InvalidConfig(`evaluation: ${refused}`);
    const folder = dependencies.evaluationFolder(id);
    const existing = await folder.read();
    const identity = hashOf(identityFields(evaluation));
    if (existing !== undefined && hashOf(identityFields(existing)) !== identity) {
      throw new InvalidConfig(
        `evaluation: the id ${JSON.stringify(id)} belongs to another evaluation file ` +
          `(${changedFields(identityFields(existing), identityFields(evaluation))}); ` +
          'start this one under another id',
      );
    }
    const policy = await runOnce(dependencies, evaluationKey(id, 'policy', identity), () =>
      findPolicy(dependencies, evaluation),
    );
    const planned = await planEach(dependencies, suites, (suite) =>
      planSuite(dependencies, evaluation, suite),
    );
    const shards = planShards(planned, evaluation.casesPerShard);
    if (existing === undefined) await folder.write(evaluation);
    // Under a key, so that garbage collection keeps it as long as its results.
    const content: EvaluationRecord = { evaluation, policy };
    const record = await runOnce(dependencies, evaluationKey(id, 'record', content), () =>
      dependencies.store.putJson(content),
    );
    return {
      id,
      evaluation: record,
      identity,
      suites: planned,
      shards,
      ...throughput(evaluation),
      judged: 0,
    };
  };
}

const throughput = ({
  concurrency,
  heartbeatSeconds,
  maxAttempts,
  maxOutageSeconds,
}: Evaluation): Pick<
  EvaluationPlan,
  'concurrency' | 'heartbeatSeconds' | 'maxAttempts' | 'maxOutageSeconds'
> => ({
  concurrency,
  heartbeatSeconds,
  maxAttempts,
  ...(maxOutageSeconds !== undefined && { maxOutageSeconds }),
});

async function planSuite(
  dependencies: Dependencies,
  evaluation: Evaluation,
  suite: Suite,
): Promise<PlannedSuite> {
  const { name } = suite;
  const refused = suite.refuses(suiteSettings(evaluation));
  if (refused !== null) return { name, skipped: refused };
  return withSuite(dependencies, evaluation, suite, (opened): PlannedSuite => {
    if ('missing' in opened) return { name, skipped: opened.missing };
    if (opened.cannotAsk !== undefined) return { name, skipped: opened.cannotAsk };
    const { dataHash, promptVersion: asking, versions } = opened;
    const cases = casesOf(opened, evaluation).length;
    if (cases === 0) return { name, skipped: 'it has no answer key' };
    return { name, skipped: null, cases, dataHash, asking, versions };
  });
}

/** The shards of all suites. @throws InvalidConfig if they are more than a workflow can have */
export function planShards(suites: readonly PlannedSuite[], casesPerShard: number): CaseShard[] {
  const shards = suites.flatMap((suite) => shardsOf(suite, casesPerShard));
  if (shards.length > MAX_SHARDS)
    throw new InvalidConfig(
      `evaluation: casesPerShard: got ${casesPerShard}, which makes ${shards.length} shards of these suites; ` +
        `expected at most ${MAX_SHARDS}`,
    );
  return shards;
}

export const shardsOf = (suite: PlannedSuite, size: number): CaseShard[] =>
  suite.skipped !== null
    ? []
    : Array.from({ length: Math.ceil(suite.cases / size) }, (_, shard) => ({
        suite: suite.name,
        shard,
        from: shard * size,
        to: Math.min(suite.cases, (shard + 1) * size),
      }));

async function findPolicy(dependencies: Dependencies, { policy }: Evaluation): Promise<EvaluatedPolicy> {
  if (policy.type !== 'run') return policy;
  const folder = dependencies.runFolder(policy.run);
  const run = await openRun(folder);
  if (run === undefined)
    throw new InvalidConfig(
      `evaluation: policy.run: got ${JSON.stringify(policy.run)}; there is no such run`,
    );
  const lines = await run.ledger.read();
  const last = lines.at(-1);
  const line =
    policy.epoch === null
      ? (last ?? run.fork?.line)
      : [...(run.fork ? [run.fork.line] : []), ...lines].find(({ epoch }) => epoch === policy.epoch);
  if (line === undefined) {
    const available = last === undefined ? 'no epoch yet' : `epochs up to ${last.epoch}`;
    throw new InvalidConfig(`evaluation: policy.epoch: got ${policy.epoch}; ${policy.run} has ${available}`);
  }
  const { serving, agent, durability } = await experimentInEffect(
    folder,
    parseExperiment(run.experiment),
    line.epoch,
  );
  if (agent.model.type === 'scratch')
    throw new InvalidConfig(
      `evaluation: policy.run: got ${JSON.stringify(policy.run)}; its agent was made from scratch and knows ` +
        "the characters of its world alone, none of a benchmark's words: expected a run of a pretrained model",
    );
  return {
    type: 'run',
    run: policy.run,
    epoch: line.epoch,
    version: { ...line.outputs.state.agent, trainer_state: null },
    serving,
    requestTimeoutSeconds: durability.requestTimeoutSeconds,
    api: policy.api,
  };
}

export type RescoringPlan = Omit<EvaluationPlan, 'shards'> & { shards: Omit<ShardRecord, 'verdicts'>[] };

/**
 * Plans to judge an evaluation's recorded answers again, by the rules and data of this worker.
 * @throws InvalidConfig for an evaluation that does not exist or has not ended, or a suite that is missing
 */
export function createPlanRescoring(dependencies: Dependencies) {
  return async ({ id }: { id: string }): Promise<RescoringPlan> => {
    const folder = dependencies.evaluationFolder(id);
    const results = await folder.readResults();
    if (results === undefined)
      throw new InvalidConfig(
        `rescore: got ${JSON.stringify(id)}; there is no evaluation of that id that has ended ` +
          `(${folder.resultsFile})`,
      );
    const { evaluation } = await readRecord(dependencies, { ...results, id, evaluation: results.record });
    const suites = await planEach(dependencies, results.suites, async (before): Promise<PlannedSuite> => {
      if (before.skipped !== null) return { name: before.name, skipped: before.skipped };
      const [suite] = dependencies.suites.select([before.name]);
      return withSuite(dependencies, evaluation, suite!, (opened): PlannedSuite => {
        if ('missing' in opened) throw new InvalidConfig(`rescore: ${before.name}: ${opened.missing}`);
        return {
          name: before.name,
          skipped: null,
          cases: before.cases,
          dataHash: opened.dataHash,
          asking: opened.promptVersion,
          versions: opened.versions,
        };
      });
    });
    return {
      id,
      evaluation: results.record,
      identity: results.identity,
      suites,
      shards: results.shards,
      ...throughput(evaluation),
      judged: results.judged,
    };
  };
}
