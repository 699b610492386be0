/** Tasks that the world's code draws, in arms whose simulator writes none. */
import { collect } from '../async/streams.ts';
import { mixLevels, openOracle } from '../coevolution/arms/difficulty-oracle.ts';
import { drawLevels, openWindow, windowLevels } from '../coevolution/arms/difficulty-window.ts';
import type { Arm } from '../config/arms.ts';
import { epochId } from '../formats/epoch-id.ts';
import type { RandomStream } from '../numerics/random.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { HistoryRecord, SeedTaskRecord } from '../types/records.ts';
import type { RunState } from '../types/run-state.ts';
import type { TaskSpec, World } from '../worlds/world.ts';

interface Wanted {
  arm: Extract<Arm, { type: 'uniform' | 'oracle' | 'window' }>;
  epoch: number;
  state: RunState;
  count: number;
}

export interface DrawnTask {
  batch: string;
  spec: TaskSpec;
}

/** The epoch's tasks of an arm that is drawn by code. Those of `uniform` and `oracle` are not held out. */
export async function drawByCode(
  store: ObjectStore,
  world: World,
  { arm, epoch, state, count }: Wanted,
  random: RandomStream,
): Promise<DrawnTask[]> {
  const history = await store.json<HistoryRecord>(state.history);
  const atLevel = (level: number, spec: TaskSpec): DrawnTask => ({
    batch: `${epochId(epoch)}/level-${level}`,
    spec,
  });
  if (arm.type === 'window') {
    const levels = drawLevels(windowLevels(history.window ?? openWindow(arm), arm), count, random);
    return levels.map((level) => atLevel(level, world.taskAt!(level, random)));
  }
  const heldOut = await collect(store.records<SeedTaskRecord>(state.held_out));
  const withheld = new Set(heldOut.map(({ spec }) => spec));
  if (arm.type === 'uniform')
    return Array.from({ length: count }, () => ({
      batch: `${epochId(epoch)}/uniform`,
      spec: drawOutside(withheld, () => world.uniformTask!(random)),
    }));
  const { difficulty } = history.oracle ?? openOracle(arm);
  const levels = random.shuffle(mixLevels(difficulty, arm.step, count));
  return levels.map((level) =>
    atLevel(
      level,
      drawOutside(withheld, () => world.taskAt!(level, random)),
    ),
  );
}

const MAX_DRAWS = 100;

/** A draw that is none of the withheld tasks; one of them if a hundred draws give no other. */
function drawOutside(withheld: ReadonlySet<TaskSpec>, draw: () => TaskSpec): TaskSpec {
  let spec = draw();
  for (let draws = 1; withheld.has(spec) && draws < MAX_DRAWS; draws++) spec = draw();
  return spec;
}
