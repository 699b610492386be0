import { changedFields } from '../contracts/changed-fields.ts';
import type { Experiment } from '../contracts/experiment.ts';
import { difference } from './arm-summary.ts';
import type { ArmSummary } from './arm-summary.ts';
import { above, below, verdictOf } from './claim.ts';
import type { Claim, Facts } from './claim.ts';
import { estimateText } from './estimate-text.ts';

/** Claims about single settings of the method: arms that differ from the main one in nothing else. */
export function ablationClaims({ arms, experiments }: Facts, main: ArmSummary): Claim[] {
  const base = experiments[main.arm]!;
  const variants = (fields: (of: Experiment) => Experiment) =>
    arms.filter(
      ({ arm }) => changedFields(withoutName(fields(experiments[arm]!)), withoutName(fields(base))) === '',
    );
  const targets = variants((of) => ({ ...of, difficulty: { ...of.difficulty, alpha: 0 } }));
  const updates = variants((of) => ({
    ...of,
    filter: { type: 'off' },
    environment: {
      ...of.environment,
      training: of.environment.training && { ...of.environment.training, lambda: 0 },
    },
  }));
  return [
    ...targetClaim(targets, ({ arm }) => experiments[arm]!.difficulty.alpha),
    ...weightsClaim(updates, ({ arm }) => experiments[arm]!),
  ];
}

const withoutName = (of: Experiment): object => ({ ...of, name: '' });
const areaOf = ({ figures }: ArmSummary): number => figures.area?.mean ?? 0;
const text = (name: string, arm: ArmSummary): string => `${name} ${estimateText(arm.figures.area)}`;

function* targetClaim(arms: readonly ArmSummary[], alphaOf: (arm: ArmSummary) => number): Generator<Claim> {
  const sorted = arms.toSorted((one, other) => alphaOf(one) - alphaOf(other));
  const half = sorted.find((arm) => alphaOf(arm) === 0.5);
  if (half === undefined || sorted.length < 3) return;
  const ends = [sorted[0]!, sorted.at(-1)!].filter((arm) => arm !== half);
  yield {
    claim: 'α = 0.5 is right: the largest area under the held-out curve, and more than at both ends',
    paper: 'argued from p(1-p), not measured',
    ours: sorted.map((arm) => text(`α ${alphaOf(arm)}:`, arm)).join('; '),
    verdict: verdictOf([
      sorted.every((arm) => areaOf(arm) <= areaOf(half)),
      ...ends.map((end) => above(difference(half, end, 'area'))),
    ]),
  };
}

function* weightsClaim(
  arms: readonly ArmSummary[],
  experimentOf: (arm: ArmSummary) => Experiment,
): Generator<Claim> {
  const find = (filters: boolean, weighs: boolean) =>
    arms.find(
      (arm) =>
        (experimentOf(arm).filter.type !== 'off') === filters &&
        experimentOf(arm).environment.training!.lambda > 0 === weighs,
    );
  const [filter, weights, both] = [find(true, false), find(false, true), find(true, true)];
  if (filter === undefined || weights === undefined || both === undefined) return;
  yield {
    claim: 'the filter and the weights are both needed: neither alone has more area under the held-out curve',
    paper: 'both are used, not measured',
    ours: [text('filter alone', filter), text('weights alone', weights), text('both', both)].join('; '),
    verdict: verdictOf(
      [filter, weights].map((alone) =>
        areaOf(alone) > areaOf(both) ? false : below(difference(alone, both, 'area')),
      ),
    ),
  };
}
