import { changedFields } from '../contracts/changed-fields.ts';
import type { Experiment } from '../contracts/experiment.ts';
import { isMethod } from './claim.ts';

type Experiments = Readonly<Record<string, Experiment>>;

/** The first arm of each preset in which both policies learn: the method, as its presets have it. */
export function firstOfEachPreset(experiments: Experiments): string[] {
  const presets = new Map<string, string>();
  for (const [name, experiment] of Object.entries(experiments)) if (experiment.arm.type === 'genenv' && isMethod(experiment) && !presets.has(experiment.arm.preset)) presets.set(experiment.arm.preset, name);
  return [...presets.values()];
}

/** Whether the agents of two arms are trained in the same way. */
export const trainAlike = (one: Experiment, other: Experiment): boolean => changedFields(one.agent, other.agent) === '';

/** The arm whose simulator is frozen, and whose agent is trained as this one's: the same way where there is such an arm, else that of `random`. */
export function controlOf(experiments: Experiments, of: string): string | null {
  if (experiments[of]!.agent.training === null) return null;
  const frozen = Object.entries(experiments).filter(([name, { arm, agent, environment }]) => name !== of && ['genenv', 'random'].includes(arm.type) && agent.training !== null && environment.training === null);
  const equal = frozen.find(([, experiment]) => trainAlike(experiment, experiments[of]!));
  return (equal ?? frozen.find(([, { arm }]) => arm.type === 'random'))?.[0] ?? null;
}

/** Arms whose agent is trained in another way than the baseline's, as a note for the reader. */
export function* otherTerms(experiments: Experiments, baseline: string): Generator<string> {
  const terms = ({ agent, pools }: Experiment) => ({ agent, pools: { train: pools.train } });
  for (const [name, experiment] of Object.entries(experiments)) {
    if (experiment.agent.training === null || experiments[baseline]!.agent.training === null) continue;
    const changed = changedFields(terms(experiments[baseline]!), terms(experiment), 20);
    if (changed !== '') yield `${name} trains its agent otherwise than ${baseline} (${changed}): what differs between them is not the curriculum’s alone.`;
  }
}
