import { existsSync, globSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry } from '../../../src/runs/ledger-entry.ts';
import type { FileRef } from '../../../src/store/references.ts';
import type { Disturbance, FaultClass } from '../fault-class.ts';
import type { EpochActivity, Scene } from '../scene.ts';
import { killWorker } from './worker.ts';

const row = 'torn or corrupt file';
/** A shard of a phase asks at most as many requests; what is damaged is made again whole. */
const shard = 16;

const digits = (epoch: number): string => String(epoch).padStart(4, '0');

/** Cuts the file off somewhere, or flips one bit of it. */
function damage({ random }: Scene, file: string): void {
  const data = readFileSync(file);
  if (data.length === 0) return;
  const at = random.int(data.length);
  if (random.int(2) === 0) truncateSync(file, at);
  else {
    data[at]! ^= 1 << random.int(8);
    writeFileSync(file, data);
  }
}

/** Kills the worker, damages what it left, and starts another. */
const damaged = (
  name: string,
  {
    activity,
    when,
  }: { activity: EpochActivity | readonly EpochActivity[]; when: 'before' | 'after' | 'late' },
  spoil: (scene: Scene, activity: EpochActivity) => void,
  rest: Omit<Disturbance, 'back'>,
): FaultClass => ({
  name: `damaged: ${name}`,
  row,
  async inject(scene) {
    const at = typeof activity === 'string' ? activity : scene.random.pick(activity);
    await killWorker(scene, at, when === 'late' ? { ms: 30 + scene.random.int(120) } : when);
    spoil(scene, at);
    return { back: await scene.newWorker(), ...rest };
  },
});

const phaseOf = {
  generateTasks: 'generate',
  rollOut: 'roll-out',
  computeRewards: 'reward',
  filterByDifficulty: 'filter',
  updatePools: 'pools',
} as const;
const keysOf = (scene: Scene, phase: string): string[] =>
  globSync(`${scene.stack.path('store', 'keys', scene.id, digits(scene.epoch), phase)}/**/*.json`).sort();
const workOf = (scene: Scene, pattern: string): string[] =>
  globSync(`${scene.stack.path('store', 'work', scene.id)}/${pattern}`).sort();

export const fileClasses: FaultClass[] = [
  {
    ...damaged(
      'ledger',
      { activity: ['generateTasks', 'rollOut', 'commitEpoch'], when: 'before' },
      (scene) => damage(scene, scene.stack.path('runs', scene.id, 'ledger.jsonl')),
      { epochMayFail: true, allowed: { requests: 4 * shard, steps: 4, activities: 12 } },
    ),
    selected: true,
  },
  damaged(
    "the note of the ledger's head",
    { activity: ['generateTasks', 'rollOut', 'commitEpoch'], when: 'before' },
    (scene) => {
      for (const file of globSync(`${scene.stack.path('runs', scene.id)}/{,.}*head*`)) damage(scene, file);
    },
    { epochMayFail: true, allowed: { requests: 4 * shard, steps: 4, activities: 12 } },
  ),
  damaged(
    'checkpoint',
    { activity: ['generateTasks', 'rollOut', 'trainAgent'], when: 'before' },
    (scene) => {
      const { state } = (
        JSON.parse(scene.stack.live.ledger(scene.id).trim().split('\n').at(-1)!) as LedgerEntry
      ).outputs;
      const { uri } = scene.random.pick([state.agent, state.environment]).checkpoint!;
      damage(scene, join(scene.stack.path('store'), uri, 'model.safetensors'));
    },
    { epochMayFail: true, allowed: { requests: 6 * shard, steps: 12, activities: 12 } },
  ),
  damaged(
    'traces',
    { activity: ['computeRewards', 'trainAgent'], when: 'before' },
    (scene) => {
      const record = JSON.parse(readFileSync(scene.random.pick(keysOf(scene, 'roll-out')), 'utf8')) as {
        value: { file: FileRef };
      };
      damage(scene, join(scene.stack.path('store'), record.value.file.uri));
    },
    { epochMayFail: true, allowed: { requests: shard, activities: 12 } },
  ),
  damaged(
    'key record',
    {
      activity: ['generateTasks', 'rollOut', 'computeRewards', 'filterByDifficulty', 'updatePools'],
      when: 'after',
    },
    (scene, activity) => {
      for (const file of keysOf(scene, phaseOf[activity as keyof typeof phaseOf])) damage(scene, file);
    },
    { allowed: { requests: 2 * shard } },
  ),
  damaged(
    'request journal',
    { activity: ['generateTasks', 'rollOut'], when: 'late' },
    (scene) => {
      for (const file of workOf(scene, '*/requests.jsonl')) damage(scene, file);
    },
    { allowed: { requests: 2 * shard } },
  ),
  {
    name: 'damaged: state of a training job',
    row,
    async inject(scene) {
      const activity = scene.random.pick(['trainAgent', 'trainEnvironment'] as const);
      await scene.begin();
      const job = await scene.job(activity);
      process.kill(job, 'SIGSTOP');
      await scene.worker.stop('SIGKILL');
      process.kill(job, 'SIGKILL');
      const folder = workOf(scene, `${digits(scene.epoch)}-train-*`).at(-1)!;
      const files = [
        ...globSync(`${folder}/checkpoints/*/*`),
        ...['job.json', 'progress.jsonl', 'result.json', 'exit.json']
          .map((name) => join(folder, name))
          .filter((file) => existsSync(file)),
      ];
      for (const file of scene.random.shuffle(files).slice(0, 2)) damage(scene, file);
      return { back: await scene.newWorker(), allowed: { steps: 4 } };
    },
  },
];
