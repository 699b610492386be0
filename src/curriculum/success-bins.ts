/** The data set of the arm `success-bin`: tasks drawn by code, chosen by the initial agent's measured success. */
import type { KeyedMutex } from '../async/keyed-mutex.ts';
import { collect } from '../async/streams.ts';
import { chooseBySuccess } from '../coevolution/arms/success-bin.ts';
import type { SuccessBinArm } from '../config/arms.ts';
import type { Experiment } from '../config/experiment.ts';
import { mean } from '../numerics/arithmetic.ts';
import { deriveSeed, randomStream } from '../numerics/random.ts';
import { attemptTasks } from '../rollouts/task-attempts.ts';
import type { ModelDependencies } from '../rollouts/completion-requests.ts';
import { runOnce } from '../runtime/run-once.ts';
import type { Phase } from '../runtime/run-once.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { FileRef } from '../store/references.ts';
import type { MeasuredTaskRecord, SeedTaskRecord } from '../types/records.ts';
import type { Metrics, PolicyVersion, RunState } from '../types/run-state.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { World } from '../worlds/world.ts';

/** The run id that measured success is recorded under, shared by all arms of a comparison. */
const sharedId = '_initial-success';

interface MeasuredCandidates {
  file: FileRef;
  tokens: number;
}

/**
 * The tasks of an arm's bin, and how often the initial agent solved them: in the attempts that chose them, and
 * in fresh ones, which alone say what p̂ of the bin is.
 * @throws InvalidConfig if code drew fewer tasks than the bin has
 */
export async function tasksOfBin(
  dependencies: ModelDependencies,
  mutex: KeyedMutex,
  { experiment, world }: Phase,
  state: RunState,
): Promise<{ specs: string[]; tokens: number; metrics: Metrics }> {
  const arm = armOf(experiment);
  const { file, tokens } = await measureCandidates(dependencies, mutex, { experiment, world }, state);
  const measured = await collect(dependencies.store.records<MeasuredTaskRecord>(file));
  if (measured.length < arm.tasks)
    throw new InvalidConfig(
      `experiment: arm.tasks: got ${arm.tasks}; code drew ${measured.length} different tasks that are not held out`,
    );
  const chosen = chooseBySuccess(
    measured.map(({ screening_successes: successes, attempts }) => ({ successes, attempts })),
    arm,
    randomStream(deriveSeed(experiment.seed, 'success-bin', 'ties')),
  ).map((index) => measured[index]!);
  return {
    specs: chosen.map(({ spec }) => spec),
    tokens,
    metrics: {
      'pool/written': measured.length,
      'pool/size': chosen.length,
      'pool/screening_success_rate': meanRate(chosen, 'screening_successes'),
      'pool/success_rate': meanRate(chosen, 'fresh_successes'),
    },
  };
}

type SuccessField = 'screening_successes' | 'fresh_successes';

const meanRate = (tasks: readonly MeasuredTaskRecord[], field: SuccessField): number =>
  mean(tasks.map((task) => task[field] / task.attempts))!;

function armOf({ arm }: Pick<Experiment, 'arm'>): SuccessBinArm {
  if (arm.type !== 'success-bin') throw new Error(`the arm ${arm.type} has no bins`);
  return arm;
}

/**
 * Measures the candidates once for all arms that need the same ones: recorded under what they depend on, as
 * a warm-up is. Runs of one worker wait for the first.
 */
function measureCandidates(
  dependencies: ModelDependencies,
  mutex: KeyedMutex,
  { experiment, world }: Pick<Phase, 'experiment' | 'world'>,
  { agent: policy, held_out }: RunState,
): Promise<MeasuredCandidates> {
  const { seed, agent, serving, durability } = experiment;
  const { type, candidates, attempts } = armOf(experiment);
  const inputHash = hashOf({
    seed,
    world: experiment.world,
    serving,
    policy,
    held_out,
    sampling: agent.sampling,
    rolloutsPerTask: agent.rolloutsPerTask,
    promptsPerRequest: durability.promptsPerRequest,
    arm: { type, candidates, attempts },
  });
  const key = { experiment: sharedId, epoch: 0, phase: 'initial-success', inputHash };
  return mutex.runExclusive(inputHash, dependencies.activityContext(), () =>
    runOnce(dependencies, key, (work) =>
      attemptCandidates(dependencies, { experiment, world, inputHash, work }, policy, held_out),
    ),
  );
}

async function attemptCandidates(
  dependencies: ModelDependencies,
  context: Phase,
  policy: PolicyVersion,
  heldOut: FileRef,
): Promise<MeasuredCandidates> {
  const { experiment, world } = context;
  const arm = armOf(experiment);
  const heldOutTasks = await collect(dependencies.store.records<SeedTaskRecord>(heldOut));
  const excluded = new Set(heldOutTasks.map(({ spec }) => spec));
  const records = drawCandidates(world, arm, experiment.seed, excluded).map(
    (spec, index): MeasuredTaskRecord => ({
      id: `candidate-${String(index).padStart(4, '0')}`,
      spec,
      difficulty: world.difficulty(spec),
      attempts: arm.attempts,
      screening_successes: 0,
      fresh_successes: 0,
    }),
  );
  let tokens = 0;
  const attempts = attemptTasks(dependencies, context, {
    agent: policy,
    tasks: records,
    attempts: 2 * arm.attempts,
    seedPath: ['success-bin'],
  });
  for await (const { task, attempt, solved, sampled } of attempts) {
    tokens += sampled.token_ids.length;
    if (solved) task[attempt < arm.attempts ? 'screening_successes' : 'fresh_successes'] += 1;
  }
  return { file: await dependencies.store.putRecords(records), tokens };
}

/** Draws that may repeat another task, or be held out, before code is taken to have no more. */
const drawsPerCandidate = 20;

/** Different tasks of the cells of the held-out grid, none of them held out; fewer if code has no more. */
export function drawCandidates(
  world: World,
  { candidates }: Pick<SuccessBinArm, 'candidates'>,
  seed: number,
  heldOut: ReadonlySet<string>,
): string[] {
  const random = randomStream(deriveSeed(seed, 'success-bin', 'candidates'));
  const specs = new Set<string>();
  for (let draw = 0; specs.size < candidates && draw < drawsPerCandidate * candidates; draw++) {
    const spec = world.uniformTask!(random);
    if (!heldOut.has(spec)) specs.add(spec);
  }
  return [...specs];
}
