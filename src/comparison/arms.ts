import { changedFields } from '../contracts/changed-fields.ts';
import type { Experiment } from '../contracts/experiment.ts';
import { isMethod } from './claim.ts';

type Experiments = Readonly<Record<string, Experiment>>;

/** The first arm of each preset in which both policies learn: the method, as its presets have it. */
export function firstOfEachPreset(experiments: Experiments): string[] {
  const presets = new Map<string, string>();
  for (const [name, experiment] of Object.entries(experiments))
    if (experiment.arm.type === 'genenv' && isMethod(experiment) && !presets.has(experiment.arm.preset))
      presets.set(experiment.arm.preset, name);
  return [...presets.values()];
}

/** What an agent's training is: its settings, and the mix of tasks that it attempts. */
const training = ({ agent, pools }: Experiment) => ({ agent, pools: { train: pools.train } });

/** Whether the agents of two arms are trained in the same way. */
export const trainAlike = (one: Experiment, other: Experiment): boolean =>
  changedFields(training(one), training(other)) === '';

/** The arm whose simulator is frozen, and whose agent is trained as this one's; null where there is none, and for an agent that does not learn. */
export function controlOf(experiments: Experiments, of: string): string | null {
  if (experiments[of]!.agent.training === null) return null;
  const found = Object.entries(experiments).find(
    ([name, experiment]) =>
      name !== of &&
      ['genenv', 'random'].includes(experiment.arm.type) &&
      experiment.environment.training === null &&
      trainAlike(experiment, experiments[of]!),
  );
  return found?.[0] ?? null;
}

/** Arms whose agent is trained in another way than the baseline's, as a note for the reader. */
export function* otherTerms(experiments: Experiments, baseline: string): Generator<string> {
  for (const [name, experiment] of Object.entries(experiments)) {
    if (experiment.agent.training === null || experiments[baseline]!.agent.training === null) continue;
    const changed = changedFields(training(experiments[baseline]!), training(experiment), 20);
    if (changed !== '')
      yield `${name} trains its agent otherwise than ${baseline} (${changed}): what differs between them is not the curriculum’s alone.`;
  }
}
