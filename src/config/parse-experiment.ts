import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { describeIssues, show } from '../validation/issue-messages.ts';
import { isObject } from '../validation/json-schema.ts';
import type { JsonSchema } from '../validation/json-schema.ts';
import { requireSize } from '../validation/parse-file.ts';
import { impossibleCombinations } from './cross-field-checks.ts';
import { experimentSchema } from './experiment.ts';
import type { Experiment } from './experiment.ts';
import { paperWorlds, presets } from './presets.ts';

/**
 * Values of `over` win; objects merge key by key, but not those that chose another variant (`type`) than the
 * preset.
 */
export function merge(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isObject(under) || !isObject(over)) return over;
  if ('type' in over && 'type' in under && over.type !== under.type) return over;
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merge(under[key], over[key])]));
}

/**
 * What the file's arm supplies. The arms other than `genenv` are the tuned method without the simulator's
 * update.
 */
function presetOf(raw: Record<string, unknown>): unknown {
  const { arm, environment, world } = raw;
  if (!isObject(arm)) return presets.tuned;
  // An update that the file asks for nevertheless is completed, so that it is refused for what it is.
  const asksForUpdate = isObject(environment) && isObject(environment.training);
  if (arm.type !== 'genenv' && !asksForUpdate)
    return merge(presets.tuned, { environment: { training: null } });
  if (arm.preset !== 'paper') return presets.tuned;
  const named = isObject(world) ? paperWorlds[String(world.type)] : undefined;
  return named === undefined ? presets.paper : { ...presets.paper, world: named };
}

/** The preset without the field of the agent's steps in place of which the file gives the other one. */
function withoutReplaced(preset: unknown, { agent }: Record<string, unknown>): unknown {
  if (!isObject(preset) || !isObject(preset.agent) || !isObject(agent)) return preset;
  const [preferred, named] = [preset.agent.training, agent.training];
  if (!isObject(preferred) || !isObject(named)) return preset;
  const training = { ...preferred };
  if (named.batchSize !== undefined) delete training.stepsPerEpoch;
  if (named.stepsPerEpoch !== undefined) delete training.batchSize;
  return { ...preset, agent: { ...preset.agent, training } };
}

/**
 * The experiment as it will run: presets and defaults written out, every field checked.
 * @throws InvalidConfig naming every wrong field, what it holds and what is allowed.
 */
export function parseExperiment(raw: unknown): Experiment {
  if (raw === undefined || raw === null)
    throw new InvalidConfig(
      'experiment: no input was given; expected the content of an experiment file (`--input-file ' +
        'experiments/laptop.json`)',
    );
  requireSize('experiment', raw);
  if (!isObject(raw))
    throw new InvalidConfig(
      `experiment: got ${show(raw)}; expected an object, the content of an experiment file`,
    );
  const merged = merge(withoutReplaced(presetOf(raw), raw), raw);
  const parsed = experimentSchema.safeParse(merged);
  if (!parsed.success) throw invalid(issuesOf(parsed.error, merged));
  const problems = impossibleCombinations(parsed.data);
  if (problems.length > 0) throw invalid(problems);
  const experiment = { ...parsed.data };
  delete experiment.$schema;
  return experiment;
}

const invalid = (problems: readonly string[]): InvalidConfig =>
  new InvalidConfig(problems.map((problem) => `experiment: ${problem}`).join('\n'));

function issuesOf({ issues }: z.ZodError, merged: unknown): string[] {
  const schema = z.toJSONSchema(experimentSchema, { io: 'input', target: 'draft-7' }) as JsonSchema;
  return describeIssues(issues, merged, schema);
}
