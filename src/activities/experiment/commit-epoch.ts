import type { Experiment } from '../../config/experiment.ts';
import { settingsInEffect } from '../../config/retune.ts';
import { mean, probabilityOf } from '../../numerics/arithmetic.ts';
import { wilsonInterval } from '../../numerics/intervals.ts';
import { passAtK } from '../../numerics/tests.ts';
import { writeEpochIndex } from '../../runs/epoch-index.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import type { RunFolder } from '../../runs/run-folder.ts';
import { epochMessages } from '../../scoring/epoch-messages.ts';
import type { EpochRecords } from '../../scoring/epoch-messages.ts';
import { hashOf } from '../../store/canonical-json.ts';
import { InvalidArtifact } from '../../store/errors.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import type { CommitInput } from '../../types/activity-inputs.ts';
import type { CommittedEpoch, ServerTokens } from '../../types/activity-types.ts';
import type { Metrics } from '../../types/run-state.ts';
import type { RewardRecord, TaskRecord, VerdictRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordedEpoch } from './recorded-epoch.ts';

/**
 * Writes the epoch's line into the ledger, once: committing the same epoch again returns its line. A new line
 * has to be what the phases of the epoch recorded: whoever schedules an activity could give it any other.
 * Times go into metrics.jsonl, so that the ledger stays a function of experiment file and seed.
 * @throws InvalidConfig for a run without its experiment file
 * @throws InvalidArtifact for anything else than the epoch's phases recorded under the settings in effect,
 *   and if a rewind has changed the ledger meanwhile
 */
export function createCommitEpoch(dependencies: Dependencies) {
  return async (input: CommitInput): Promise<CommittedEpoch> => {
    const { run, epoch, outputs, next, notes, retried, usage, seconds } = input;
    const folder = dependencies.runFolder(run.id);
    const opened = await openRun(folder);
    if (opened === undefined)
      throw new InvalidConfig(
        `run: ${folder.experimentFile} is missing; restore it, or start the experiment again`,
      );
    const lines = await opened.ledger.read();
    if (!lines.some((line) => line.epoch === epoch)) {
      const recorded = await recordedEpoch(dependencies, folder, opened, { epoch, lines });
      requireRecorded(folder.ledgerFile, input, recorded);
    }
    const experiment = await dependencies.store.json<Experiment>(run.experiment);
    const heldOut = await heldOutMetrics(dependencies.store, outputs.verdicts, experiment.evaluation.passAtK);
    const metrics: Metrics = {};
    for (const part of [...input.metrics, heldOut]) Object.assign(metrics, part);
    // The trainer counts the tokens of its job under the same name.
    metrics.num_tokens = next.tokens;
    const body = {
      epoch,
      inputs: { experiment: run.experiment, settings: settingsInEffect(experiment) },
      outputs: { ...outputs, state: next },
      metrics,
      notes,
    };
    // A rewind since the lines were read leaves others than the epoch was checked by, and may have cut its own.
    const last = lines.at(-1);
    const checked = last === undefined ? opened.ledger.anchor : hashOf(last);
    const written = await opened.ledger.append(body, (previous) =>
      previous === checked ? Promise.resolve() : Promise.reject(ledgerChanged(folder.ledgerFile, epoch)),
    );
    const line = hashOf(written);
    await folder.appendMetrics({
      epoch,
      at: new Date().toISOString(),
      metrics: {
        ...metrics,
        'rollouts/retried': retried,
        ...(usage && {
          'usage/completion_tokens': usage.completionTokens,
          'usage/prompt_tokens': usage.promptTokens,
          ...serverMetrics(usage.servers),
        }),
      },
      time: seconds,
    });
    // The dashboard makes it again where it is missing, so nothing depends on it.
    const { heartbeat } = dependencies.activityContext();
    await writeEpochIndex(folder.path, { epoch, line, outputs }, dependencies.store, (file) =>
      heartbeat({ indexing: file }),
    ).catch(() => undefined);
    const messages = await epochMessages(experiment, metrics, recordsOf(dependencies.store, outputs), () =>
      dependencies.loadWorld(experiment.world),
    );
    await recordTexts(folder, epoch, { notes, messages });
    return { epoch, line, state: next, metrics, notes, ...(messages.length > 0 && { messages }) };
  };
}

/** Notes and messages become events, each once: a worker may have died after some of them. */
async function recordTexts(
  folder: RunFolder,
  epoch: number,
  { notes, messages }: { notes: readonly string[]; messages: readonly string[] },
): Promise<void> {
  if (notes.length + messages.length === 0) return;
  const ofEpoch = (await folder.events()).filter((event) => event.epoch === epoch);
  const recorded = new Set(ofEpoch.flatMap(({ note, message }) => [note, message]));
  for (const note of notes) if (!recorded.has(note)) await folder.appendEvent({ type: 'note', epoch, note });
  for (const message of messages)
    if (!recorded.has(message)) await folder.appendEvent({ type: 'message', epoch, message });
}

/** By server: `usage/simulator_completion_tokens`. */
const serverMetrics = (servers: ServerTokens = {}): Metrics =>
  Object.fromEntries(
    Object.entries(servers).flatMap(([use, { completionTokens, promptTokens }]) => [
      [`usage/${use}_completion_tokens`, completionTokens],
      [`usage/${use}_prompt_tokens`, promptTokens],
    ]),
  );

const ledgerChanged = (ledgerFile: string, epoch: number): InvalidArtifact =>
  new InvalidArtifact(
    ledgerFile,
    `epoch ${epoch} is not committed: the ledger has changed since it was read`,
    {},
    'The run is opened again; what its phases recorded is found.',
  );

/** @throws InvalidArtifact, with which the workflow opens the run again and finds what is recorded */
function requireRecorded(ledgerFile: string, input: CommitInput, recorded: CommitInput): void {
  const fields = ['run', 'outputs', 'next', 'metrics', 'notes'] as const;
  const field = fields.find((name) => hashOf(input[name]) !== hashOf(recorded[name]));
  if (field === undefined) return;
  const what = field === 'run' ? 'the settings in effect' : `what its phases recorded`;
  throw new InvalidArtifact(
    ledgerFile,
    `epoch ${input.epoch} is not committed: ${field} is not ${what}`,
    {},
    'The epoch is opened and run again; what its phases recorded is found.',
  );
}

const recordsOf = (store: ObjectStore, { tasks, rewards }: CommitInput['outputs']): EpochRecords => ({
  tasks: () => (tasks === null ? emptyStream() : store.records<TaskRecord>(tasks)),
  rewards: () => (rewards === null ? emptyStream() : store.records<RewardRecord>(rewards)),
});

async function* emptyStream(): AsyncGenerator<never> {
  // An epoch without tasks has no such file.
}

/** @param k of pass@k; undefined = not measured */
async function heldOutMetrics(
  store: ObjectStore,
  files: readonly FileRef[],
  k: number | undefined,
): Promise<Metrics> {
  const byMetric: SuccessCounts = new Map();
  const byTask: SuccessCounts = new Map();
  const probabilities = new Map<string, number[]>();
  const logprobs: number[] = [];
  const answerProbabilities: number[] = [];
  for (const file of files) {
    for await (const verdict of store.records<VerdictRecord>(file)) {
      const { task_id, kind, difficulty, sample, probability, logprob } = verdict;
      const { solved = verdict.reward === 1 } = verdict;
      countVerdict(byMetric, 'eval/heldout', solved);
      countVerdict(byMetric, `eval/heldout/${kind}`, solved);
      countVerdict(byMetric, `eval/heldout_difficulty/${difficulty}`, solved);
      countVerdict(byTask, task_id, solved);
      if (logprob !== undefined) logprobs.push(logprob);
      // Measured once a task. One that the agent has no room for has none: it cannot be answered.
      if (sample === 0) answerProbabilities.push(logprob === undefined ? 0 : probabilityOf(logprob));
      if (probability === undefined) continue;
      const exact = 'eval/heldout_probability';
      for (const name of [exact, `${exact}/${kind}`, `${exact}_difficulty/${difficulty}`])
        probabilities.set(name, [...(probabilities.get(name) ?? []), probability]);
    }
  }
  const overall = byMetric.get('eval/heldout');
  if (overall === undefined) return {};
  const { low, high } = wilsonInterval(overall);
  const rates = [...byMetric].map(([metric, { successes, attempts }]) => [metric, successes / attempts]);
  return {
    'eval/heldout_low': low,
    'eval/heldout_high': high,
    ...(Object.fromEntries(rates) as Metrics),
    ...Object.fromEntries([...probabilities].map(([metric, values]) => [metric, mean(values)])),
    ...(logprobs.length > 0 && {
      'eval/heldout_logprob': mean(logprobs),
      'eval/heldout_answer_probability': mean(answerProbabilities),
    }),
    ...(k !== undefined && {
      'eval/pass_at_1': meanPassAtK(byTask, 1),
      'eval/pass_at_k': meanPassAtK(byTask, k),
    }),
  };
}

type SuccessCounts = Map<string, { successes: number; attempts: number }>;

function countVerdict(counts: SuccessCounts, key: string, solved: boolean): void {
  const { successes, attempts } = counts.get(key) ?? { successes: 0, attempts: 0 };
  counts.set(key, { successes: successes + Number(solved), attempts: attempts + 1 });
}

const meanPassAtK = (tasks: SuccessCounts, k: number): number | null =>
  mean([...tasks.values()].map((task) => passAtK(task, k)));
