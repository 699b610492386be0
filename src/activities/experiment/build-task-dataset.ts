import { collect } from '../../async/streams.ts';
import { parseCandidate } from '../../curriculum/generate-candidates.ts';
import { datasetTexts } from '../../curriculum/task-datasets.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Metrics, WritePoolInput, WrittenPool } from '../../types/activity-types.ts';
import type { SeedTaskRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { isSolved } from '../../worlds/world.ts';
import type { ParsedTask } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * The data set of an arm that learns from one, written once, before the first epoch (GenEnv A.3). `static`:
 * the base tasks and the frozen simulator's variations of each. `offline`: another model's tasks, or those of
 * a file. What is no task, cannot be solved, repeats another, is held out, holds a question of a benchmark or
 * has a label that would need a vote (nobody votes here; a file's labels are its owner's) is dropped and
 * counted.
 * @throws InvalidConfig for a file that is not there, is not the one named by its hash, or has a line that is
 * no record or holds a question of a benchmark
 */
export function createWritePool(dependencies: Dependencies) {
  return (input: WritePoolInput): Promise<WrittenPool> =>
    runPhaseOnce(dependencies, 'write-pool', input, async (context) => {
      const { experiment, world } = context;
      const base = (await collect(dependencies.store.records<SeedTaskRecord>(input.state.base_tasks))).map(
        ({ spec }) => spec,
      );
      const heldOut = new Set(
        (await collect(dependencies.store.records<SeedTaskRecord>(input.state.held_out))).map(
          ({ spec }) => spec,
        ),
      );
      const { arm, seed } = experiment;
      const chance = randomStream(deriveSeed(seed, 'write-pool', 'verdict'));
      const { texts, tokens } = await datasetTexts(dependencies, context, input.state.environment, base);
      const given = arm.type === 'offline' && arm.source.type === 'file';
      // A simulator writes held-out tasks in the other arms too; a data set from elsewhere may hold them all.
      const parse = (text: string): ParsedTask => {
        const parsed = parseCandidate(world, text);
        return parsed.valid && !given && world.vote?.needed(parsed.spec) === true
          ? { valid: false, reason: 'label_unconfirmed' }
          : parsed;
      };
      const checked = keepTasks(
        texts,
        parse,
        (spec) => isSolved(world, world.score(spec, world.referenceAnswer(spec), chance).reward),
        arm.type === 'offline' ? heldOut : new Set(),
      );
      const specs = arm.type === 'static' ? [...base, ...checked.specs] : checked.specs;
      if (specs.length === 0)
        throw new InvalidConfig(
          `experiment: arm: the data set has no valid task; of ${texts.length} texts ${JSON.stringify(checked.dropped)} were dropped`,
        );
      const pool = await dependencies.store.putRecords(
        specs.map((spec, index): SeedTaskRecord => ({ id: `pool-${String(index).padStart(4, '0')}`, spec })),
      );
      return {
        pool,
        tokens,
        metrics: { 'pool/written': texts.length, 'pool/size': specs.length, ...checked.dropped },
      };
    });
}

function keepTasks(
  texts: readonly string[],
  parse: (text: string) => ParsedTask,
  solvable: (spec: string) => boolean,
  heldOut: ReadonlySet<string>,
): { specs: string[]; dropped: Metrics } {
  const specs = new Set<string>();
  const dropped: Metrics = {};
  for (const text of texts) {
    const parsed = parse(text);
    const reason = !parsed.valid
      ? parsed.reason
      : specs.has(parsed.spec)
        ? 'repeat'
        : heldOut.has(parsed.spec)
          ? 'held_out'
          : solvable(parsed.spec)
            ? undefined
            : 'unsolvable';
    if (parsed.valid && reason === undefined) specs.add(parsed.spec);
    else dropped[`pool/dropped/${reason}`] = (dropped[`pool/dropped/${reason}`] ?? 0) + 1;
  }
  return { specs: [...specs], dropped };
}
