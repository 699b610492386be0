import { KeyedMutex } from '../../async/keyed-mutex.ts';
import { collect } from '../../async/streams.ts';
import { parseCandidate } from '../../curriculum/generate-candidates.ts';
import { tasksOfBin } from '../../curriculum/success-bins.ts';
import { datasetTexts } from '../../curriculum/task-datasets.ts';
import { PROMPT_TOO_LONG } from '../../inference/policy-client.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { openCompletionClient } from '../../rollouts/completion-requests.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import type { WritePoolInput, WrittenPool } from '../../types/activity-types.ts';
import type { Metrics, PolicyVersion } from '../../types/run-state.ts';
import type { SeedTaskRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { isSolved } from '../../worlds/world.ts';
import type { ParsedTask, World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Builds the data set of an arm that learns from one: once, before the first epoch (GenEnv A.3). `static`:
 * the base tasks and the frozen simulator's variations of each. `offline`: another model's tasks, or those of
 * a file. A text is dropped and counted if it is no valid task, cannot be solved, repeats another, is held
 * out, holds a question of a benchmark, is too long for the agent, or has a label that would need a vote
 * (there is no vote here; the labels of a file are trusted). `success-bin`: tasks drawn by code, by measured
 * success.
 * @throws InvalidConfig for a file that is missing, does not match its hash, or has a line that is no record
 * or holds a question of a benchmark
 */
export function createBuildTaskDataset(dependencies: Dependencies) {
  const mutex = new KeyedMutex();
  return (input: WritePoolInput): Promise<WrittenPool> =>
    runPhaseOnce(dependencies, 'write-pool', input, async (context) => {
      const { experiment, world } = context;
      const { arm, seed, evaluation } = experiment;
      const { store } = dependencies;
      if (arm.type === 'success-bin') {
        const { specs, ...written } = await tasksOfBin(dependencies, mutex, context, input.state);
        return { pool: await store.putRecords(poolRecords(specs)), ...written };
      }
      const base = await readSpecs(store, input.state.base_tasks);
      const heldOut = await readSpecs(store, input.state.held_out);
      const { texts, tokens } = await datasetTexts(dependencies, context, input.state.environment, base);
      const trustsLabels = arm.type === 'offline' && arm.source.type === 'file';
      const verdicts = randomStream(deriveSeed(seed, 'write-pool', 'verdict'));
      const { specs: accepted, dropped } = selectTasks(texts, {
        parse: (text) => parseLabelled(world, text, trustsLabels),
        isSolvable: (spec) => {
          const { reward } = world.score(spec, world.referenceAnswer(spec), verdicts);
          return isSolved(world, reward);
        },
        // A simulator writes held-out tasks in the other arms too, unless they are excluded; a data set from
        // elsewhere may hold them all.
        heldOut: new Set(arm.type === 'offline' || evaluation.excludeHeldOut === true ? heldOut : []),
      });
      const fitting = await keepFitting(dependencies, context, input.state.agent, accepted);
      if (fitting.length < accepted.length)
        dropped[`pool/dropped/${PROMPT_TOO_LONG}`] = accepted.length - fitting.length;
      const specs = arm.type === 'static' ? [...base, ...fitting] : fitting;
      if (specs.length === 0)
        throw new InvalidConfig(
          `experiment: arm: the data set has no valid task; of ${texts.length} texts ` +
            `${JSON.stringify(dropped)} were dropped`,
        );
      return {
        pool: await store.putRecords(poolRecords(specs)),
        tokens,
        metrics: { 'pool/written': texts.length, 'pool/size': specs.length, ...dropped },
      };
    });
}

const poolRecords = (specs: readonly string[]): SeedTaskRecord[] =>
  specs.map((spec, index) => ({ id: `pool-${String(index).padStart(4, '0')}`, spec }));

/** The tasks that the agent has room to read and to answer. */
async function keepFitting(
  dependencies: Dependencies,
  context: Phase,
  agent: PolicyVersion,
  specs: readonly string[],
): Promise<string[]> {
  const { experiment, world } = context;
  const request = { model: agent.name, maxTokens: experiment.agent.sampling.maxTokens };
  await using client = await openCompletionClient(dependencies, context, { requests: 0, policies: [agent] });
  const fitting: string[] = [];
  for (const spec of specs) if (await client.hasRoomFor(request, world.agentPrompt(spec))) fitting.push(spec);
  return fitting;
}

async function readSpecs(store: ObjectStore, tasks: FileRef): Promise<string[]> {
  const records = await collect(store.records<SeedTaskRecord>(tasks));
  return records.map(({ spec }) => spec);
}

/** A task whose label would need a vote is invalid unless its label is trusted. */
function parseLabelled(world: World, text: string, trustsLabels: boolean): ParsedTask {
  const parsed = parseCandidate(world, text);
  const needsVote = parsed.valid && world.vote?.needed(parsed.spec) === true;
  return needsVote && !trustsLabels ? { valid: false, reason: 'label_unconfirmed' } : parsed;
}

interface TaskRules {
  parse: (text: string) => ParsedTask;
  isSolvable: (spec: string) => boolean;
  heldOut: ReadonlySet<string>;
}

/**
 * The distinct tasks that may be learnt from, and for each reason the number of texts dropped for it. A base task that
 * is written again is kept: a static data set then has it twice.
 */
function selectTasks(
  texts: readonly string[],
  { parse, isSolvable, heldOut }: TaskRules,
): { specs: string[]; dropped: Metrics } {
  const specs = new Set<string>();
  const reasonToDrop = (parsed: ParsedTask): string | undefined => {
    if (!parsed.valid) return parsed.reason;
    if (specs.has(parsed.spec)) return 'repeat';
    if (heldOut.has(parsed.spec)) return 'held_out';
    return isSolvable(parsed.spec) ? undefined : 'unsolvable';
  };
  const dropped: Metrics = {};
  for (const text of texts) {
    const parsed = parse(text);
    const reason = reasonToDrop(parsed);
    if (parsed.valid && reason === undefined) {
      specs.add(parsed.spec);
    } else {
      const metric = `pool/dropped/${reason}`;
      dropped[metric] = (dropped[metric] ?? 0) + 1;
    }
  }
  return { specs: [...specs], dropped };
}
