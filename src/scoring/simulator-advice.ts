/** What people can change if the simulator writes no valid tasks. */
import type { Experiment } from '../config/experiment.ts';
import { servingOf } from '../config/policy-servers.ts';
import { heldTo } from '../curriculum/generate-candidates.ts';
import { hasWarmUpCorpus } from '../worlds/settings.ts';
import type { World } from '../worlds/world.ts';

/**
 * Settings that may help, those that the reasons speak for first; none that the file's server or world would
 * refuse or ignore.
 */
export function simulatorAdvice(
  experiment: Pick<Experiment, 'environment' | 'serving' | 'world'>,
  world: Pick<World, 'taskSchema' | 'taskGrammar'>,
  reasons: ReadonlySet<string>,
): string[] {
  const { model, sampling, serving } = experiment.environment;
  const advice: string[] = [];
  if (reasons.has('cut_off')) advice.push(`environment.sampling.maxTokens above ${sampling.maxTokens}`);
  if (canBeHeld(experiment, world))
    advice.push(`${serving === undefined ? '' : 'environment.'}serving.structuredOutput`);
  if (serving !== undefined) return [...advice, 'another model'];
  if (model.warmUp !== undefined) advice.push('a longer environment.model.warmUp');
  else if (hasWarmUpCorpus(experiment.world, 'environment'))
    advice.push('a cold start (environment.model.warmUp)');
  return [...advice, 'a larger model'];
}

/** Whether the server could hold texts to the form of a task, and does not. */
function canBeHeld(
  experiment: Pick<Experiment, 'environment' | 'serving'>,
  world: Pick<World, 'taskSchema' | 'taskGrammar'>,
): boolean {
  const serving = servingOf(experiment, 'environment');
  const held: Experiment['serving'] =
    serving.type === 'openai'
      ? { ...serving, structuredOutput: 'json_schema' }
      : { ...serving, structuredOutput: 'native' };
  const hasForm = (by: Experiment['serving']): boolean => Object.keys(heldTo(by, world)).length > 0;
  return hasForm(held) && !hasForm(serving);
}
