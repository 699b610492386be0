import type { RunFolder } from '../runs/run-folder.ts';
import type { LiveView } from './api.ts';

/** What is known of a run beyond its files. */
export interface LiveSource {
  /** By Temporal if a server is reached, else by how the run last ended. @throws nothing */
  live(folder: RunFolder, run: { epoch: number; isFinished: boolean }): Promise<LiveView>;
}
