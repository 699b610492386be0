import type { Experiment } from '../contracts/experiment.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { CrossPlaySummary } from './cross-play-summary.ts';
import { estimateText } from './estimate-text.ts';
import type { FigureName } from './figures.ts';
import { figures } from './figures.ts';
import { sideOf } from './over-seeds.ts';
import type { OverSeeds } from './over-seeds.ts';
import type { ProbeSummary } from './probe-summary.ts';

export type Verdict = 'held' | 'not held' | 'not measured';

/** A claim of the method, the paper's figure where one is comparable, and ours. The rules of the verdicts: docs/comparison.md. */
export interface Claim {
  claim: string;
  paper: string;
  ours: string;
  verdict: Verdict;
}

/** What claims are judged by. */
export interface Facts {
  arms: readonly ArmSummary[];
  experiments: Record<string, Experiment>;
  crossPlay: readonly CrossPlaySummary[];
  probes: readonly ProbeSummary[];
}

/** True, false, or null where nothing was measured, or a single seed leaves open what an interval would say. */
export type Finding = boolean | null;

/** A claim holds where all of its findings are true; one that is false settles it. */
export const verdictOf = (findings: readonly Finding[]): Verdict =>
  findings.includes(false) ? 'not held' : findings.includes(null) ? 'not measured' : 'held';

/** Whether the whole of both 95 % intervals is above, or below, a level. */
export const above = (estimate: OverSeeds | null, level = 0): Finding =>
  compared(estimate && sideOf(estimate, level), (side) => side === 1);
export const below = (estimate: OverSeeds | null, level = 0): Finding =>
  compared(estimate && sideOf(estimate, level), (side) => side === -1);
export const atLeast = (value: number | null | undefined, level: number): Finding =>
  compared(value, (one) => one >= level);

const compared = (value: number | null | undefined, holds: (value: number) => boolean): Finding =>
  value === null || value === undefined ? null : holds(value);

/** The method itself: both policies learn. */
export const isMethod = ({ arm, agent, environment }: Experiment): boolean =>
  arm.type === 'genenv' && agent.training !== null && environment.training !== null;
/** Shares of base and earlier tasks in what the agent attempts. */
export const replays = ({
  pools: {
    train: { mix },
  },
}: Experiment): boolean => mix.base + mix.history > 0;

/** `name 0.412 [0.380, 0.447]`, of a figure of an arm. */
export const figureText = (name: string, arm: ArmSummary | undefined, figure: FigureName): string[] =>
  arm === undefined ? [] : [`${name} ${estimateText(arm.figures[figure], figures[figure].unit)}`];
