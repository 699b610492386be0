/** The adapters that a fake server has been given, whatever its dialect. */
import { existsSync } from 'node:fs';
import { weightsIn } from './fake-weights.ts';
import type { Reply } from './model-server-faults.ts';

export interface FakeBaseModel {
  name: string;
  folder: string;
  contextLength: number | undefined;
}

interface LoadedAdapter {
  folder: string;
  /** Of the moment when it was loaded. */
  weights: string;
}

export abstract class LoadedAdapters {
  readonly base: FakeBaseModel;
  readonly loaded = new Map<string, LoadedAdapter>();
  /** Every call, in order. */
  readonly calls: { call: 'load' | 'unload'; name: string; folder?: string }[] = [];
  /** What the next loads are answered instead, one each. */
  readonly nextReplies: Reply[] = [];
  /** Folders that are loaded in place of others: a server that mixes its adapters up. */
  readonly mistaken = new Map<string, string>();

  constructor(base: FakeBaseModel) {
    this.base = base;
  }

  load(name: string, folder: string): Reply {
    this.calls.push({ call: 'load', name, folder });
    const instead = this.nextReplies.shift();
    if (instead !== undefined) return instead;
    if (this.loaded.has(name)) return this.replies.loadedBefore(name);
    if (!existsSync(folder)) return this.replies.noFolder(name, folder);
    this.loaded.set(name, { folder, weights: weightsIn(this.mistaken.get(folder) ?? folder) });
    return this.replies.loaded(name);
  }

  unload(name: string): Reply {
    this.calls.push({ call: 'unload', name });
    return this.loaded.delete(name) ? this.replies.unloaded(name) : this.replies.unknown(name);
  }

  /** What a server has after a restart. */
  forget(): void {
    this.loaded.clear();
  }

  /** How the server says what it has done, or why not. */
  protected abstract readonly replies: {
    loaded: (name: string) => Reply;
    loadedBefore: (name: string) => Reply;
    noFolder: (name: string, folder: string) => Reply;
    unloaded: (name: string) => Reply;
    unknown: (name: string) => Reply;
  };
}
