import { rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { runIdPattern, runIdRule } from '../validation/run-id.ts';
import { atomicCreate, temporaryName } from './atomic-write.ts';
import { canonicalJson, hashOf } from './canonical-json.ts';
import { errorCode, InvalidArtifact, withDiskErrors } from './errors.ts';
import type { OnDamage } from './errors.ts';
import { readHashedText } from './plain-files.ts';
import { createShared, readSharedText, removeShared } from './shared-files.ts';
import { sharedPlace } from './shared-folders.ts';

/**
 * Names a piece of an experiment's work: the phase of an epoch, or a shard of it, on exactly these inputs.
 */
export type PhaseKey = {
  experiment: string;
  epoch: number;
  phase: string;
  shard?: number;
  inputHash: string;
};

const DAMAGE = 'the record is torn or altered; its work is done again';

/** The results of finished work. Every activity looks its key up first, so nothing is done twice. */
export class PhaseCache {
  readonly root: string;
  readonly #onDamage: OnDamage;

  constructor(root: string, { onDamage = () => undefined }: { onDamage?: OnDamage } = {}) {
    this.root = resolve(root);
    this.#onDamage = onDamage;
  }

  /**
   * The value recorded under a key. A damaged record is reported and removed, and so are a link and a pipe in
   * its place, and one whose value does not pass `check` (give `(value) => store.checkAll(value)` to check the
   * objects behind it): the work is done again.
   * @throws StoreUnavailable, InvalidArtifact if a folder above the record is a link, and what `check` throws
   * other than InvalidArtifact
   */
  async lookup<T>(
    key: PhaseKey,
    check: (value: T) => Promise<void> = () => Promise.resolve(),
  ): Promise<T | undefined> {
    const file = this.path(key);
    const text = await readSharedText(file);
    if (text === undefined) return undefined;
    const record = readRecord(key, text);
    if (record === undefined) return this.#discardDamaged(key, file);
    try {
      await check(record.value as T);
      return record.value as T;
    } catch (error) {
      if (!(error instanceof InvalidArtifact)) throw error;
      this.#onDamage({ file, problem: `what it names is not whole: ${error.message}` });
      await removeShared(file);
      return undefined;
    }
  }

  /**
   * Records a value; if another attempt was first, its value is kept and returned.
   * @throws NotSerializable, StoreUnavailable
   */
  async record<T>(key: PhaseKey, value: T): Promise<T> {
    const file = this.path(key);
    const record = { key: plainKey(key), value };
    const text = canonicalJson({ checksum: hashOf(record), ...record });
    while (true) {
      if (await createShared(file, text)) return value;
      const first = await this.lookup<T>(key);
      if (first !== undefined) return first;
    }
  }

  /** Absolute path of the record. @throws InvalidConfig for a key that cannot be a path */
  path(key: PhaseKey): string {
    const { experiment, epoch, phase, shard, inputHash } = checkKey(key);
    const shards = shard === undefined ? [] : [zeroPad(shard, 2)];
    return join(this.root, 'keys', experiment, zeroPad(epoch, 4), phase, ...shards, `${inputHash}.json`);
  }

  async #discardDamaged(key: PhaseKey, file: string): Promise<undefined> {
    if (sharedPlace(file) !== undefined) {
      this.#onDamage({ file, problem: DAMAGE });
      await removeShared(file);
      return undefined;
    }
    const aside = temporaryName(dirname(file));
    try {
      await withDiskErrors(file, () => rename(file, aside));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
    const text = (await withDiskErrors(file, () => readHashedText(aside))) ?? '';
    // Another process may have replaced the damaged record by a good one just before the rename.
    if (readRecord(key, text) === undefined) this.#onDamage({ file, problem: DAMAGE });
    else await atomicCreate(file, text);
    await rm(aside, { recursive: true, force: true });
    return undefined;
  }
}

export type KeyRecord = { key: PhaseKey; value: unknown };

/** A record as it was written; undefined for one that is torn or altered. */
export function parseKeyRecord(text: string): KeyRecord | undefined {
  try {
    const { checksum, key, value } = JSON.parse(text) as KeyRecord & { checksum: string };
    return checksum === hashOf({ key, value }) ? { key, value } : undefined;
  } catch {
    return undefined;
  }
}

export const zeroPad = (value: number, width: number): string => String(value).padStart(width, '0');

/** @throws InvalidConfig naming the part that cannot be in a path */
export function checkKey(key: PhaseKey): PhaseKey {
  const isNatural = (value: number) => Number.isSafeInteger(value) && value >= 0;
  const isValid = {
    epoch: isNatural(key.epoch),
    shard: isNatural(key.shard ?? 0),
    phase: /^[a-z]\w*(-[a-z]\w*)*$/i.test(key.phase),
    inputHash: /^[0-9a-f]{64}$/.test(key.inputHash),
  };
  const parts = Object.keys(isValid) as (keyof typeof isValid)[];
  const wrong = parts.find((part) => !isValid[part]);
  if (wrong !== undefined)
    throw new InvalidConfig(
      `Key of a phase has ${wrong} ${JSON.stringify(key[wrong])}: expected epoch and shard from 0, a ` +
        'phase such as train-agent, and a sha256 as inputHash.',
    );
  // What is no run has a name that none can have: `_nightly-curriculum`.
  checkRunId(key.experiment.replace(/^_/, ''));
  return key;
}

const plainKey = ({ experiment, epoch, phase, shard, inputHash }: PhaseKey): PhaseKey => ({
  experiment,
  epoch,
  phase,
  ...(shard !== undefined && { shard }),
  inputHash,
});

function readRecord(key: PhaseKey, text: string): KeyRecord | undefined {
  const record = parseKeyRecord(text);
  return record !== undefined && hashOf(record.key) === hashOf(plainKey(key)) ? record : undefined;
}

export const isRunId = (id: string): boolean => runIdPattern.test(id);

/** Returns the id of an experiment. @throws InvalidConfig if it cannot be a workflow id and a folder name */
export function checkRunId(id: string): string {
  if (isRunId(id)) return id;
  throw new InvalidConfig(
    `Experiment id ${JSON.stringify(id)} cannot be used: it takes ${runIdRule}. Give another id.`,
  );
}
