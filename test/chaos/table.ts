import { cpus } from 'node:os';
import type { Outcome } from './drive.ts';
import type { Work } from './fault-class.ts';

export interface Row {
  row: string;
  class: string;
  injected: number;
  recovered: number;
  skipped: string | null;
  seconds: { median: number; p95: number } | null;
  redone: Work;
  duplicates: number;
}

export interface Results {
  seed: number;
  runs: number;
  recovered: number;
  duplicates: number;
  cores: number;
  classes: Row[];
}

/** One row a class. */
export function summarise(outcomes: readonly Outcome[], seed: number): Results {
  const classes = [...Map.groupBy(outcomes, ({ name }) => name).entries()].map(([name, all]): Row => {
    const run = all.filter(({ skipped }) => skipped === undefined);
    const seconds = run
      .flatMap((outcome) => (outcome.seconds === null ? [] : [outcome.seconds]))
      .sort((a, b) => a - b);
    const total = (kind: keyof Work): number => run.reduce((sum, { redone }) => sum + redone[kind], 0);
    return {
      row: all[0]!.row,
      class: name,
      injected: run.length,
      recovered: run.filter(({ recovered }) => recovered).length,
      skipped: all.find(({ skipped }) => skipped !== undefined)?.skipped ?? null,
      seconds: seconds.length === 0 ? null : { median: quantile(seconds, 0.5), p95: quantile(seconds, 0.95) },
      redone: { requests: total('requests'), steps: total('steps'), activities: total('activities') },
      duplicates: run.reduce((sum, { duplicates }) => sum + duplicates, 0),
    };
  });
  const run = outcomes.filter(({ skipped }) => skipped === undefined);
  return {
    seed,
    runs: run.length,
    recovered: run.filter(({ recovered }) => recovered).length,
    duplicates: run.reduce((sum, { duplicates }) => sum + duplicates, 0),
    cores: cpus().length,
    classes: classes.sort((a, b) => (a.row === b.row ? compare(a.class, b.class) : compare(a.row, b.row))),
  };
}

/** Results with the classes of earlier ones that these do not have. */
export function withEarlier(results: Results, earlier: Results): Results {
  const repeated = new Set(results.classes.map((row) => row.class));
  const rows = [...earlier.classes.filter((row) => !repeated.has(row.class)), ...results.classes];
  const sum = (field: 'injected' | 'recovered' | 'duplicates'): number =>
    rows.reduce((total, row) => total + row[field], 0);
  return {
    ...earlier,
    runs: sum('injected'),
    recovered: sum('recovered'),
    duplicates: sum('duplicates'),
    classes: rows.sort((a, b) => compare(a.row, b.row) || compare(a.class, b.class)),
  };
}

/** Nearest rank. */
function quantile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]! * 100) / 100;
}

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);

/** The table in Markdown, as the docs have it. */
export function markdown({ seed, runs, recovered, duplicates, classes }: Results): string {
  const cells = classes.map(
    ({ row, class: name, injected, recovered: back, skipped, seconds, redone, duplicates: twice }) => [
      row,
      name,
      skipped === null ? String(injected) : `${injected} (skipped: ${skipped})`,
      String(back),
      seconds === null ? '' : `${seconds.median.toFixed(1)} / ${seconds.p95.toFixed(1)}`,
      `${redone.requests} / ${redone.steps} / ${redone.activities}`,
      String(twice),
    ],
  );
  const head = [
    'fault',
    'class',
    'injected',
    'recovered',
    'seconds to resume: median / p95',
    'redone: requests / steps / activities',
    'duplicates',
  ];
  const lines = [head, head.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |`);
  return [
    `${recovered} of ${runs} runs recovered with ${duplicates} duplicates (seed ${seed}).`,
    '',
    ...lines,
  ].join('\n');
}
