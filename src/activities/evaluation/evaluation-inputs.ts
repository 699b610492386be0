/** What the activities of an evaluation share: its record, its keys, its suites as they were planned. */
import { mapConcurrent } from '../../async/map-concurrent.ts';
import type { Missing, OpenSuite, Suite, SuiteSettings } from '../../benchmarks/suite.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import { evaluationRecordSchema } from '../../runs/file-schemas.ts';
import { canonicalJson, hashOf } from '../../store/canonical-json.ts';
import { problemOf } from '../../store/json-files.ts';
import type { PhaseKey } from '../../store/phase-cache.ts';
import type { FileRef } from '../../store/references.ts';
import type { AnswerInput, PlannedSuite, ReadySuite } from '../../types/evaluation-inputs.ts';
import type { EvaluatedPolicy } from '../../types/evaluation-types.ts';
import { InvalidInput } from '../../validation/checked-input.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

/** What all activities of an evaluation read: the file as it runs, and the policy that it means. */
export interface EvaluationRecord {
  evaluation: Evaluation;
  policy: EvaluatedPolicy;
}

/** The fields that verdicts follow from: all but throughput. */
export const identityFields = (evaluation: Evaluation): object =>
  Object.fromEntries(Object.entries(evaluation).filter(([field]) => !THROUGHPUT_FIELDS.has(field)));
const THROUGHPUT_FIELDS: ReadonlySet<string> = new Set([
  'concurrency',
  'heartbeatSeconds',
  'maxAttempts',
  'maxOutageSeconds',
  'requestTimeoutSeconds',
] satisfies (keyof Evaluation)[]);

/** The owner of an evaluation's keys; no experiment may have an id like it. */
const ownerOf = (id: string): string => `_evaluation-${id}`;

/** @param input what the policy or the record follows from */
export const evaluationKey = (id: string, phase: 'policy' | 'record', input: unknown): PhaseKey => ({
  experiment: ownerOf(id),
  epoch: 0,
  phase,
  inputHash: hashOf(input),
});

/**
 * The record of an evaluation. Only what was planned under its id is read: whoever schedules an activity could
 * name another record, and have its answers kept as those of this evaluation.
 * @throws InvalidInput for a record of another id, and for an identity that is not the record's
 */
export async function readRecord(
  { store, keys }: Dependencies,
  { id, evaluation: ref, identity }: Pick<AnswerInput, 'id' | 'evaluation' | 'identity'>,
): Promise<EvaluationRecord> {
  const record = await store.json<EvaluationRecord>(ref);
  const problem = problemOf(record, evaluationRecordSchema);
  if (problem !== undefined)
    throw new InvalidInput(`evaluation ${id}: evaluation: it names no record: ${problem}`);
  if (hashOf(identityFields(record.evaluation)) !== identity)
    throw new InvalidInput(
      `evaluation ${id}: identity: expected that of the record which \`evaluation\` names`,
    );
  const planned = await keys.lookup<FileRef>(evaluationKey(id, 'record', record));
  if (planned?.sha256 !== ref.sha256)
    throw new InvalidInput(
      `evaluation ${id}: evaluation: it was not planned with this record; start it again with its file: ` +
        'what was answered is kept',
    );
  return record;
}

/**
 * The key holds every input but the throughput settings. The key of answers leaves out the rules of judging,
 * so that answers stay valid when rules change.
 * @param input whose record was read: its identity is the record's
 */
export function shardKey(phase: 'answer' | 'judge', input: AnswerInput): PhaseKey {
  const { versions, ...answered } = input.suite;
  return {
    experiment: ownerOf(input.id),
    epoch: 0,
    phase: `${phase}-${input.suite.name}`,
    shard: input.shard,
    inputHash: hashOf({
      ...input,
      evaluation: input.identity,
      suite: { ...answered, ...(phase === 'judge' && { versions }) },
    }),
  };
}

export const suiteSettings = ({ toolFormat, search }: SuiteSettings): SuiteSettings => ({
  toolFormat,
  search,
});

/**
 * Why a suite that is named in full does not fit the settings; suites that match by `*` are skipped instead.
 */
export const refusedByName = (
  suites: readonly Suite[],
  { suites: names, ...settings }: SuiteSettings & { suites: readonly string[] },
): string | undefined =>
  suites
    .filter(({ name }) => names.includes(name))
    .map((suite) => suite.refuses(suiteSettings(settings)))
    .find((reason) => reason !== null);

/** Plans suites a few at a time: an engine takes a second to start. */
export function planEach<Named extends { name: string }>(
  dependencies: Dependencies,
  suites: readonly Named[],
  plan: (suite: Named) => Promise<PlannedSuite>,
): Promise<PlannedSuite[]> {
  const { signal, heartbeat } = dependencies.activityContext();
  return mapConcurrent(suites, MAX_OPENING_SUITES, signal, async (suite) => {
    const planned = await plan(suite);
    heartbeat({ suite: suite.name });
    return planned;
  });
}

const MAX_OPENING_SUITES = 4;

/** Runs a part of the activity with the opened suite, until the activity ends or its attempt is given up. */
export function withSuite<Result>(
  { suites, activityContext }: Dependencies,
  evaluation: Evaluation,
  suite: Suite,
  attempt: (opened: OpenSuite | Missing) => Result | Promise<Result>,
): Promise<Result> {
  const { signal, stalled } = activityContext();
  return suites.use(suite, suiteSettings(evaluation), AbortSignal.any([signal, stalled]), attempt);
}

/**
 * Runs a part of the activity with the suite as it was planned.
 * @throws InvalidConfig if this worker does not have it, or has other data or rules than the plan
 */
export function withPlannedSuite<Result>(
  dependencies: Dependencies,
  evaluation: Evaluation,
  planned: ReadySuite,
  attempt: (opened: OpenSuite) => Promise<Result>,
): Promise<Result> {
  const [suite] = dependencies.suites.select([planned.name]);
  return withSuite(dependencies, evaluation, suite!, async (opened) => {
    if ('missing' in opened)
      throw new InvalidConfig(`evaluation: ${planned.name} is not on this worker: ${opened.missing}`);
    const current = rulesOf({ ...opened, asking: opened.promptVersion });
    if (current !== rulesOf(planned)) {
      throw new InvalidConfig(
        `evaluation: ${planned.name}: this worker has other data or rules (${current}) ` +
          `than the evaluation was planned by (${rulesOf(planned)}); ` +
          'give all workers the same, or start the evaluation under another id',
      );
    }
    return attempt(opened);
  });
}

const rulesOf = ({
  dataHash,
  asking,
  versions,
}: Pick<ReadySuite, 'dataHash' | 'asking' | 'versions'>): string =>
  canonicalJson({ dataHash, asking, versions });

/** The cases to evaluate: if the policy is the answer key, those that have an answer there. */
export const casesOf = (opened: OpenSuite, { limit, policy }: Evaluation): OpenSuite['cases'] => {
  const cases =
    policy.type === 'gold' ? opened.cases.filter((item) => opened.gold(item) !== undefined) : opened.cases;
  return limit === null ? cases : cases.slice(0, limit);
};
