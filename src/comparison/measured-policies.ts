import type { Comparison } from '../config/comparison.ts';
import type { CrossPlayRecord } from '../types/comparison-inputs.ts';
import type { PortableRun } from './portable-run.ts';
import type { ProbedAgent } from './probes.ts';
import { inSameRun } from './runs-file.ts';

/** What was measured on policies of some runs. */
export interface MeasuredPolicies {
  crossPlay: readonly CrossPlayRecord[];
  probed: readonly ProbedAgent[];
}

/** Runs with what was measured on their policies, by the settings of the comparison. */
export function withMeasures(
  runs: readonly PortableRun[],
  { crossPlay, probed }: MeasuredPolicies,
  settings: Pick<Comparison, 'crossPlay' | 'probes'>,
): PortableRun[] {
  return runs.map((run) => {
    const played = crossPlay.find((record) => inSameRun(record, run));
    const agents = probed.filter((agent) => inSameRun(agent, run));
    return {
      ...run,
      ...(settings.crossPlay !== null &&
        played && { crossPlay: { ...crossPlaySettings(settings.crossPlay), cells: played.cells } }),
      ...(settings.probes !== null &&
        agents.length > 0 && {
          probes: { ...probeSettings(settings.probes), agents: agents.map(portableAgent) },
        }),
    };
  });
}

/**
 * What was measured on the policies of some runs that the comparison asks for, in the order of its runs, where
 * it was measured by the settings that it asks for.
 */
export function measuresOf(
  runs: readonly PortableRun[],
  settings: Pick<Comparison, 'crossPlay' | 'probes'>,
): MeasuredPolicies {
  const asksFor = (measure: { arms: string[]; seeds: number[] } | null, { arm, seed }: PortableRun) =>
    measure !== null && measure.arms.includes(arm) && measure.seeds.includes(seed);
  return {
    crossPlay: runs.flatMap((run) => {
      const { arm, seed, crossPlay } = run;
      if (crossPlay === undefined || !asksFor(settings.crossPlay, run)) return [];
      const { cells, ...by } = crossPlay;
      return isSame(by, crossPlaySettings(settings.crossPlay!)) ? [{ arm, seed, cells }] : [];
    }),
    probed: runs.flatMap((run) => {
      const { arm, seed, probes } = run;
      if (probes === undefined || !asksFor(settings.probes, run)) return [];
      const { agents, ...by } = probes;
      return isSame(by, probeSettings(settings.probes!)) ? agents.map(probedAgent(arm, seed)) : [];
    }),
  };
}

/** Which runs lack a measure that the comparison asks for: their policies are in another home. */
export function* describeUnmeasured(
  { crossPlay, probes }: Pick<Comparison, 'crossPlay' | 'probes'>,
  measured: MeasuredPolicies,
): Generator<string> {
  for (const { name, measure, records } of [
    { name: 'Cross-play', measure: crossPlay, records: measured.crossPlay },
    { name: 'Probes', measure: probes, records: measured.probed },
  ]) {
    const missing = (measure?.seeds ?? []).flatMap((seed) =>
      measure!.arms
        .filter((arm) => !records.some((record) => inSameRun(record, { arm, seed })))
        .map((arm) => `${arm} under seed ${seed}`),
    );
    if (missing.length > 0)
      yield `${name}: not measured for ${missing.join(', ')}, whose policies are not in this home.`;
  }
}

const crossPlaySettings = ({ checkpoints, tasks, samples }: NonNullable<Comparison['crossPlay']>) => ({
  checkpoints,
  tasks,
  samples,
});
const probeSettings = ({ checkpoints, tasks, attempts }: NonNullable<Comparison['probes']>) => ({
  checkpoints,
  tasks,
  attempts,
});

const isSame = <Settings extends Record<string, number>>(left: Settings, right: Settings): boolean =>
  Object.keys(left).every((name) => left[name] === right[name]);

type PortableAgent = NonNullable<PortableRun['probes']>['agents'][number];

const portableAgent = ({ epoch, attempts, signal }: ProbedAgent): PortableAgent => ({
  epoch,
  attempts: attempts.map((task) => task.map((solved) => (solved ? '1' : '0')).join('')),
  signal: signal?.map(({ p, norm, score, tokens }) => [p, norm, score, tokens]) ?? null,
});

const probedAgent =
  (arm: string, seed: number) =>
  ({ epoch, attempts, signal }: PortableAgent): ProbedAgent => ({
    arm,
    seed,
    epoch,
    attempts: attempts.map((task) => [...task].map((digit) => digit === '1')),
    signal: signal?.map(([p, norm, score, tokens]) => ({ p, norm, score, tokens })) ?? null,
  });
