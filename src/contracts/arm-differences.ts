import { changedFields } from './changed-fields.ts';
import type { Experiment } from './experiment.ts';
import { replayCount } from './replay-count.ts';
import { show } from './describe-issue.ts';

/** What all arms must have in common, so that what differs in the outcome is the arm's own. */
const shared = (experiment: Experiment) => ({
  world: experiment.world,
  agent: { model: experiment.agent.model },
  environment: { model: experiment.environment.model },
  trainer: experiment.trainer,
  serving: experiment.serving,
  evaluation: experiment.evaluation,
});

/** Tasks that the agent attempts in an epoch, drawn ones included, times its attempts at each. */
export const agentRollouts = (experiment: Experiment): number =>
  (experiment.environment.promptsPerEpoch * experiment.environment.variationsPerPrompt +
    replayCount(experiment)) *
  experiment.agent.rolloutsPerTask;

/** Where arms are not on equal terms with the baseline: `arms.<arm>: <field>: got <value>; <what is expected>`. */
export function armDifferences(arms: Record<string, Experiment>, baseline: string): string[] {
  const base = arms[baseline]!;
  return Object.entries(arms).flatMap(([arm, experiment]) =>
    [...differences(experiment, base, baseline)].map((problem) => `arms.${arm}: ${problem}`),
  );
}

function* differences(experiment: Experiment, base: Experiment, baseline: string): Generator<string> {
  if (experiment.startFrom !== null)
    yield `startFrom: got ${show(experiment.startFrom)}; expected null, since all arms start from the same warm policies`;
  if (experiment.maxTokens !== null)
    yield `maxTokens: got ${experiment.maxTokens}; expected null, since a run that ends early cannot be compared`;
  const changed = changedFields(shared(base), shared(experiment));
  if (changed !== '')
    yield `world, models, trainer, serving and evaluation must be those of ${baseline}, and these differ (${changed})`;
  if (experiment.epochs !== base.epochs)
    yield `epochs: got ${experiment.epochs}; expected ${base.epochs}, as ${baseline} has`;
  const [rollouts, wanted] = [agentRollouts(experiment), agentRollouts(base)];
  if (rollouts !== wanted)
    yield `the agent makes ${rollouts} rollouts an epoch; expected ${wanted}, as in ${baseline}: set environment.promptsPerEpoch, environment.variationsPerPrompt, pools.train.mix or agent.rolloutsPerTask`;
  // A frozen agent is a control: it learns nothing by design.
  const [steps, wantedSteps] = [experiment.agent.training?.stepsPerEpoch, base.agent.training?.stepsPerEpoch];
  if (steps !== undefined && wantedSteps !== undefined && steps !== wantedSteps)
    yield `agent.training.stepsPerEpoch: got ${steps}; expected ${wantedSteps}, as ${baseline} has`;
}
