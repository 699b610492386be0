/** Table 1 of GenEnv's paper (arXiv 2512.19682), which an evaluation is shown beside. */

/** The five benchmarks in the order of the table. */
export const paperBenchmarks = ['ALFWorld', 'BFCL', 'API-Bank', 'Bamboogle', 'TravelPlanner'] as const;
export type PaperBenchmark = (typeof paperBenchmarks)[number];

/** A model of the table. */
export interface PaperRow {
  model: string;
  /** The part of the table that it stands in. */
  group: 'larger' | '7B';
  /** Percent, in the order of `paperBenchmarks`. */
  percents: readonly number[];
  /** Percent, as the table has it: the unweighted mean of the five, to a decimal. */
  average: number;
}

const row = (
  group: PaperRow['group'],
  model: string,
  percents: readonly number[],
  average: number,
): PaperRow => ({
  model,
  group,
  percents,
  average,
});

/** All rows, larger models first, as the paper prints them. It says neither which rates they are nor of what splits. */
export const paperTable: readonly PaperRow[] = [
  row('larger', 'Llama-3.1-405B', [65.3, 5.5, 74.4, 77.6, 16.5], 47.9),
  row('larger', 'gpt-oss-120B', [60.4, 21.9, 53.6, 29.6, 14.7], 36.0),
  row('larger', 'Qwen2.5-72B', [63.5, 35.3, 54.9, 69.6, 20.5], 48.8),
  row('larger', 'Llama-3.1-70B', [60.1, 13.4, 64.3, 76.8, 17.6], 46.4),
  row('larger', 'Qwen3-32B', [52.3, 33.8, 63.8, 71.2, 22.5], 48.7),
  row('larger', 'gpt-oss-20B', [53.6, 24.4, 41.2, 33.6, 14.9], 33.5),
  row('larger', 'Qwen3-14B', [37.8, 29.4, 66.7, 76.0, 14.7], 44.9),
  row('7B', 'ReSearch', [18.7, 5.0, 65.3, 68.0, 16.4], 34.7),
  row('7B', 'SearchR1', [16.1, 5.0, 63.3, 67.2, 16.1], 33.5),
  row('7B', 'Qwen2.5-7B-Instruct', [14.2, 7.0, 61.6, 68.0, 14.3], 33.0),
  row('7B', 'ToRL', [8.0, 0.0, 54.1, 34.4, 14.8], 22.3),
  row('7B', 'GenEnv', [54.5, 41.8, 79.1, 76.0, 16.6], 53.6),
];
