import { bootstrapInterval, pairedBootstrapInterval } from '../coevolution/bootstrap-interval.ts';
import type { Estimate } from '../coevolution/bootstrap-interval.ts';
import { mean } from '../coevolution/domain.ts';
import { meanCurve } from '../coevolution/learning-curve.ts';
import type { CurveMean, CurvePoint } from '../coevolution/learning-curve.ts';
import { deriveSeed } from '../coevolution/seeds.ts';
import { agentRollouts } from '../contracts/arm-differences.ts';
import type { Comparison, CrossPlayRecord } from '../contracts/comparisons.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import { guards } from '../report/guards.ts';
import { measured, trained } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import { crossPlaySummary } from './cross-play-summary.ts';
import type { CrossPlaySummary } from './cross-play-summary.ts';
import { figureNames, figuresOf, shareSolved } from './figures.ts';
import type { FigureName, Figures } from './figures.ts';
import { heldOutCurve } from './run-record.ts';
import type { RunRecord } from './run-record.ts';

/** A mean over seeds with its 95 % interval; `low` and `high` are null for a single seed. */
export type OverSeeds = Omit<Estimate, 'low' | 'high'> & { low: number | null; high: number | null; seeds: number };

/** A value an epoch, from epoch 1 on, each the mean over the seeds. */
export type Courses = Record<'success' | 'difficulty' | 'correctLength' | 'informative' | 'unsolved' | 'solved', (number | null)[]>;

export interface ArmSummary {
  arm: string;
  /** `genenv`, `random`, `static`, … */
  type: string;
  runs: { id: string; seed: number; ledger: string; figures: Figures; curve: CurvePoint[] }[];
  curve: CurveMean[];
  courses: Courses;
  figures: Record<FigureName, OverSeeds | null>;
  /** This arm minus the baseline under the same seeds; null for the baseline itself, and where no seed has both. */
  differences: Record<FigureName, OverSeeds | null>;
  /** Guards that warn at the end of a run, and under how many seeds. */
  warnings: { guard: string; threshold: string; seeds: number }[];
}

/** What a comparison came to: a function of its file, its runs' ledgers and its cross-play, of nothing else. */
export interface Summary {
  name: string;
  baseline: string;
  seeds: number[];
  threshold: number;
  epochs: number;
  rolloutsPerEpoch: number;
  arms: ArmSummary[];
  crossPlay: CrossPlaySummary[];
  /** What a reader must know before the figures are trusted. */
  notes: string[];
}

/** @throws InvalidConfig where the runs under a seed did not start from the same policies */
export function summarize({ name, baseline, seeds, threshold, arms }: Comparison, runs: readonly RunRecord[], crossPlay: readonly CrossPlayRecord[]): Summary {
  requireSameStart(runs);
  const experiment = arms[baseline]!;
  const figured = new Map(runs.map((run) => [run, figuresOf(run, threshold)]));
  const ofArm = (arm: string): RunRecord[] => runs.filter((run) => run.arm === arm);
  const valuesOf = (arm: string, figure: FigureName): (number | null)[] => ofArm(arm).map((run) => figured.get(run)![figure]);
  const eachFigure = <T>(value: (figure: FigureName) => T): Record<FigureName, T> => Object.fromEntries(figureNames.map((figure) => [figure, value(figure)])) as Record<FigureName, T>;
  return {
    name,
    baseline,
    seeds,
    threshold,
    epochs: experiment.epochs,
    rolloutsPerEpoch: agentRollouts(experiment),
    arms: Object.keys(arms).map((arm): ArmSummary => {
      const curves = ofArm(arm).map(heldOutCurve);
      return {
        arm,
        type: arms[arm]!.arm.type,
        runs: ofArm(arm).map((run, index) => ({ id: run.id, seed: run.seed, ledger: run.ledger, figures: figured.get(run)!, curve: curves[index]! })),
        curve: meanCurve(curves, (curves[0] ?? []).map(({ rollouts }) => rollouts)),
        courses: coursesOf(ofArm(arm)),
        figures: eachFigure((figure) => overSeeds(valuesOf(arm, figure), deriveSeed(0, 'bootstrap', arm, figure))),
        differences: eachFigure((figure) => (arm === baseline ? null : difference(valuesOf(arm, figure), valuesOf(baseline, figure), deriveSeed(0, 'bootstrap', arm, baseline, figure)))),
        warnings: warningsOf(ofArm(arm)),
      };
    }),
    crossPlay: crossPlaySummary(crossPlay),
    notes: [...notesOf(runs, seeds)],
  };
}

/** Mean and interval of what was measured; null where nothing was. */
export function overSeeds(values: readonly (number | null)[], seed: number): OverSeeds | null {
  const present = measured(values);
  return withSeeds(bootstrapInterval(present, { seed }), present.length);
}

function difference(arm: readonly (number | null)[], baseline: readonly (number | null)[], seed: number): OverSeeds | null {
  const pairs = arm.flatMap((value, index) => {
    const other = baseline[index] ?? null;
    return value === null || other === null ? [] : [[value, other] as const];
  });
  return withSeeds(pairedBootstrapInterval(pairs.map(([value]) => value), pairs.map(([, other]) => other), { seed }), pairs.length);
}

// One value has no spread: an interval of no width would say that it is certain.
const withSeeds = (estimate: Estimate | null, seeds: number): OverSeeds | null => estimate && { ...estimate, ...(seeds === 1 ? { low: null, high: null } : {}), seeds };

function coursesOf(runs: readonly RunRecord[]): Courses {
  const epochs = runs.map(({ rows, experiment }) => ({ rows: trained(rows), n: experiment.agent.rolloutsPerTask }));
  const course = (value: (row: EpochRow, n: number) => number | null): (number | null)[] =>
    Array.from({ length: epochs[0]?.rows.length ?? 0 }, (_, index) => mean(measured(epochs.map(({ rows, n }) => (rows[index] === undefined ? null : value(rows[index], n))))));
  const metric = (name: string) => course(({ metrics }) => metrics[name] ?? null);
  return {
    success: metric('env/success_rate'),
    difficulty: metric('env/difficulty'),
    correctLength: metric('completions/correct_mean_length'),
    informative: metric('env/effective_group_ratio'),
    unsolved: course((row, n) => shareSolved([row], 0, n)),
    solved: course((row, n) => shareSolved([row], n, n)),
  };
}

function warningsOf(runs: readonly RunRecord[]): ArmSummary['warnings'] {
  const warned = runs.flatMap(({ rows, experiment }) => guards(trained(rows), experiment).filter(({ state }) => state === 'warn'));
  const labels = [...new Set(warned.map(({ label }) => label))];
  return labels.map((guard) => {
    const of = warned.filter(({ label }) => label === guard);
    return { guard, threshold: of[0]!.threshold, seeds: of.length };
  });
}

function requireSameStart(runs: readonly RunRecord[]): void {
  for (const run of runs) {
    const first = runs.find(({ seed }) => seed === run.seed)!;
    for (const role of ['agent', 'environment'] as const) {
      if (run.warm[role] !== first.warm[role]) throw new InvalidConfig(`comparison: ${run.id} and ${first.id} did not start from the same ${role} (${run.warm[role].slice(0, 12)}, ${first.warm[role].slice(0, 12)}), so they cannot be compared`);
    }
  }
}

function* notesOf(runs: readonly RunRecord[], seeds: readonly number[]): Generator<string> {
  if (seeds.length < 5) yield `There are ${seeds.length} seeds: intervals over so few are too narrow, and say little.`;
  for (const { id, changed } of runs) if (changed.length > 0) yield `${id} ran under changed settings in epochs ${changed[0]} to ${changed.at(-1)}: it is not on equal terms with the others.`;
}
