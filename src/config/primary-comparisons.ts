import { z } from 'zod';
import { show } from '../validation/issue-messages.ts';
import { positiveNumber, uncheckedName } from '../validation/limited-fields.ts';

/** What two arms can be compared in beforehand: figures that an arm aims for, from curves and success rates. */
export const comparedMeasures = [
  'area',
  'rolloutsToThreshold',
  'finalHeldOut',
  'residence',
  'informative',
] as const;

/** What a primary comparison may be of: those, and what arms of bins are compared in (docs/comparison.md, Teaching). */
const primaryMeasures = [...comparedMeasures, 'logprobGain'] as const;

/** The comparisons that a comparison file names before its runs are made. All others are secondary. */
export const primarySchema = z
  .array(
    z.strictObject({
      arm: uncheckedName.describe('Arm that is judged.'),
      against: uncheckedName.describe('Arm that it is compared with, under the same seeds.'),
      measure: z
        .enum(primaryMeasures)
        .describe(
          'Figure that is compared: area under the held-out curve, rollouts to the threshold, held-out ' +
            'success at the end, share of epochs in the band, share of informative groups, or change of the ' +
            'log-probability of right held-out answers.',
        ),
      margin: positiveNumber.describe(
        'Difference, in the measure’s own unit, below which two arms count as equivalent.',
      ),
    }),
  )
  .min(1)
  .max(2)
  .optional()
  .describe(
    'The comparisons, two at most, that the question is answered by, named before the runs: each is tested ' +
      'exactly, all others are corrected for their number.',
  );

export type PrimarySettings = NonNullable<z.infer<typeof primarySchema>>[number];

/** Arms that are unknown, or compared with themselves, and a comparison named twice. */
export function* primaryProblems(
  primary: readonly PrimarySettings[],
  arms: readonly string[],
): Generator<string> {
  for (const [index, { arm, against, measure }] of primary.entries()) {
    for (const [field, name] of [
      ['arm', arm],
      ['against', against],
    ])
      if (!arms.includes(name!))
        yield `primary[${index}].${field}: got ${show(name)}; allowed: ${arms.join(', ')}`;
    if (arm === against)
      yield `primary[${index}].against: got ${show(against)}; expected another arm than arm`;
    const first = primary.findIndex(
      (earlier) =>
        earlier.measure === measure &&
        [earlier.arm, earlier.against].sort().join() === [arm, against].sort().join(),
    );
    if (first < index)
      yield `primary[${index}]: got the comparison of primary[${first}] again; expected another`;
  }
}
