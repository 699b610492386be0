import { cutText } from '../formats/plain-text.ts';
import { sampleEpoch } from '../report/samples.ts';
import type { EpochRow } from '../report/run-data.ts';
import type { ObjectStore } from '../store/object-store.ts';

export type Cell = string | number | boolean | null;

/** Some of an epoch's tasks, each with an answer of the agent. */
export interface SamplesTable {
  name: 'samples';
  columns: string[];
  rows: Cell[][];
}

const columns = [
  ...['task', 'kind', 'difficulty', 'valid', 'success_rate', 'simulator_reward'],
  ...['text', 'answer', 'answer_reward'],
];
const MAX_TEXT = 2000;

/**
 * The tasks that the report shows of an epoch, at most 12, with the first answer of the agent; null if the epoch has
 * none, or its files were pruned. Traces are not read: they are most of an epoch's bytes. No code of the world runs.
 * @throws StoreUnavailable: a tracker would never get the table of an epoch that was sent without it
 */
export async function samplesTable(
  store: ObjectStore,
  { epoch, outputs }: Pick<EpochRow, 'epoch' | 'outputs'>,
): Promise<SamplesTable | null> {
  const row = { epoch, outputs: { ...outputs, traces: [] } };
  const sampled = await sampleEpoch(row, store, { world: null, gaps: [], awaitsStore: true });
  if (sampled === null || sampled.samples.length === 0) return null;
  return {
    name: 'samples',
    columns,
    rows: sampled.samples.map((sample) => {
      const answer = sample.answers.find(({ role }) => role === 'agent');
      return [
        ...[sample.id, sample.kind, sample.difficulty, sample.valid, sample.rate, sample.envReward],
        ...[clip(sample.prompt || sample.raw), clip(answer?.text ?? ''), answer?.reward ?? null],
      ];
    }),
  };
}

/** Half of a surrogate pair is no text that all trackers take. */
const clip = (text: string): string => cutText(text, MAX_TEXT);
