import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cutLedger } from '../../src/runs/cut-ledger.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import type { Fork } from '../../src/runs/run-folder.ts';
import { atomicWrite } from '../../src/store/atomic-write.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import type { LedgerLine } from '../../src/store/ledger-chain.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { folderRef } from '../../src/store/references.ts';
import { nameHome } from '../../src/tracking/identity.ts';
import { someExperiment } from '../report/make-run.ts';

/** What a model might write: markup, and a control character. */
export const hostileText = '<img src=x onerror=alert(1)> | **a** \u0007 {{x}} $(y)';

const hex = (seed: string): string => hashOf({ seed });
/** Another agent each second epoch. */
const checkpoint = (role: string, epoch: number) => folderRef(hex(`${role} ${Math.floor(epoch / 2)}`), 10, 1);

/** The metrics of an epoch: TRL's names, and ours. */
export const metricsAt = (epoch: number, offset = 0): Record<string, number> => ({
  reward: epoch / 4 + offset,
  loss: -epoch / 3,
  'completions/mean_length': 10 + epoch,
  'env/success_rate': (epoch % 10) / 10,
});

/** A run whose epochs are committed one by one, by the real ledger, without models. */
export class GrowingRun {
  readonly home: string;
  readonly id: string;
  readonly folder: RunFolder;
  readonly #store: ObjectStore;
  #offset = 0;

  private constructor(home: string, id: string) {
    this.home = home;
    this.id = id;
    this.folder = new RunFolder(join(home, 'runs'), id);
    this.#store = new ObjectStore(join(home, 'store'));
  }

  static async start(home: string, id = 'run', fork?: Fork): Promise<GrowingRun> {
    const run = new GrowingRun(home, id);
    await run.folder.writeExperiment(someExperiment(9));
    if (fork) await run.folder.writeFork(fork);
    await run.folder.appendEvent({ type: 'started' });
    return run;
  }

  /** Its key at trackers. */
  async key(rewinds = 0): Promise<string> {
    return `${await nameHome(this.home)}-${this.id}${rewinds === 0 ? '' : `-rewind-${rewinds}`}`;
  }

  async commit(epoch: number): Promise<void> {
    await this.appendLine(epoch);
    await this.appendMetrics(epoch);
  }

  async commitTo(last: number, first = 0): Promise<void> {
    for (let epoch = first; epoch <= last; epoch++) await this.commit(epoch);
  }

  async appendLine(epoch: number): Promise<void> {
    const { ledger } = (await this.folder.open())!;
    const records = await this.#records(epoch);
    const state = {
      agent: { name: 'agent', checkpoint: checkpoint('agent', epoch) },
      environment: { name: 'environment', checkpoint: checkpoint('environment', 0) },
      tokens: 100 * epoch,
    };
    await ledger.append({
      epoch,
      inputs: { settings: { 'difficulty.alpha': 0.5 } },
      outputs: { ...records, state },
      metrics: { ...metricsAt(epoch, this.#offset), 'eval/heldout': null },
      notes: [],
    });
  }

  async appendMetrics(epoch: number): Promise<void> {
    const at = new Date(Date.UTC(2026, 10, 21, 9, epoch)).toISOString();
    await this.folder.appendMetrics({ epoch, metrics: { 'rollouts/retried': 0 }, time: { epoch: 3 }, at });
  }

  /** A run that finishes has no epochs left. */
  async end(outcome: string): Promise<void> {
    const epochs = (await this.lines()).at(-1)?.epoch ?? 0;
    if (outcome === 'finished')
      await this.folder.writeRetunes([{ fromEpoch: epochs, set: { epochs }, time: '2026-11-21T09:00:00Z' }]);
    await this.folder.appendEvent({ type: 'ended', outcome });
  }

  async lines(): Promise<LedgerLine[]> {
    return (await this.folder.open())!.ledger.read();
  }

  /** As `rewindFolder` does with a whole ledger. Epochs that follow have other rewards. */
  async rewindTo(epoch: number): Promise<void> {
    await this.folder.appendEvent({ type: 'rewinding', epoch, set: {} });
    const lines = await this.lines();
    const keep = lines.findIndex((line) => line.epoch === epoch) + 1;
    await cutLedger(this.folder, (await this.folder.open())!.ledger, keep, { reason: 'rewind', epoch });
    const metrics = (await this.folder.metrics()).filter((line) => line.epoch <= epoch);
    await rm(this.folder.metricsFile);
    await atomicWrite(this.folder.metricsFile, metrics.map((line) => `${JSON.stringify(line)}\n`).join(''));
    await this.folder.appendEvent({ type: 'rewound', epoch });
    this.#offset = 100;
  }

  async #records(epoch: number) {
    if (epoch === 0) return {};
    const id = `epoch-${epoch}/task-0`;
    const task = { id, valid: true, spec: 'x', prompt: hostileText, kind: 'T', difficulty: 3, sampled: null };
    const reward = { id: `${id}/rollout-0`, task_id: id, role: 'agent', reward: 1, second_reward: 1 };
    return {
      tasks: await this.#store.putRecords([task]),
      rewards: await this.#store.putRecords([{ ...reward, well_formed: true, answer: hostileText }]),
      scores: await this.#store.putRecords([{ task_id: id, success_rate: 0.5, env_reward: 1 }]),
    };
  }
}
