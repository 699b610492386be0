import { agentSteps } from '../coevolution/optimizer-steps.ts';
import { show } from '../validation/issue-messages.ts';
import { replayCount } from './experiment.ts';
import type { Experiment } from './experiment.ts';
import { changedFields } from './retune.ts';

/** The settings that all arms must share, so that a difference in outcome is the arm's own. */
const sharedSettings = (experiment: Experiment) => ({
  world: experiment.world,
  // Held-out answers are cut at this length.
  agent: { model: experiment.agent.model, sampling: { maxTokens: experiment.agent.sampling.maxTokens } },
  environment: {
    model: experiment.environment.model,
    ...(experiment.environment.serving && { serving: experiment.environment.serving }),
    // One model for both roles at the start is another start; what it is afterwards is the arm's own.
    ...(experiment.environment.sharesWeights && { sharesWeightsAtStart: true }),
  },
  trainer: experiment.trainer,
  serving: experiment.serving,
  evaluation: sharedEvaluation(experiment.evaluation),
});

/** All arms begin with the same agent, so it is enough if one of them evaluates it. */
const sharedEvaluation = ({ benchmarks, ...rest }: Experiment['evaluation']) => ({
  ...rest,
  ...(benchmarks && { benchmarks: { ...benchmarks, initial: undefined } }),
});

/** Tasks that the agent attempts in an epoch, drawn ones included, times its attempts at each. */
export const agentRollouts = (experiment: Experiment): number =>
  (experiment.environment.promptsPerEpoch * experiment.environment.variationsPerPrompt +
    replayCount(experiment)) *
  experiment.agent.rolloutsPerTask;

/** Optimizer steps of the agent in an epoch whose tasks are all valid; undefined if it is frozen. */
function stepsOfAgent(experiment: Experiment): number | undefined {
  const { training, rolloutsPerTask } = experiment.agent;
  return training === null ? undefined : agentSteps(training, agentRollouts(experiment) / rolloutsPerTask);
}

/** How arms are not on equal terms with the baseline: `arms.<arm>: <field>: got <value>; <expectation>`. */
export function armDifferences(arms: Record<string, Experiment>, baseline: string): string[] {
  const base = arms[baseline]!;
  // A frozen agent is a control: it makes no steps that others could be held to.
  const trained = [baseline, ...Object.keys(arms)].find((arm) => arms[arm]!.agent.training !== null);
  return Object.entries(arms).flatMap(([arm, experiment]) =>
    [
      ...differences(experiment, base, baseline),
      ...(trained === undefined ? [] : stepDifferences(experiment, arms[trained]!, trained)),
    ].map((problem) => `arms.${arm}: ${problem}`),
  );
}

function* differences(experiment: Experiment, base: Experiment, baseline: string): Generator<string> {
  if (experiment.startFrom !== null)
    yield (
      `startFrom: got ${show(experiment.startFrom)}; expected null, since all arms start from the same ` +
      'warm policies'
    );
  if (experiment.maxTokens !== null)
    yield `maxTokens: got ${experiment.maxTokens}; expected null, since a run that ends early cannot be compared`;
  const changed = changedFields(sharedSettings(base), sharedSettings(experiment));
  if (changed !== '')
    yield (
      `world, models, maxTokens of the agent, trainer, serving and evaluation must be those of ${baseline}, and these ` +
      `differ (${changed})`
    );
  if (experiment.epochs !== base.epochs)
    yield `epochs: got ${experiment.epochs}; expected ${base.epochs}, as ${baseline} has`;
  const [rollouts, baseRollouts] = [agentRollouts(experiment), agentRollouts(base)];
  if (rollouts !== baseRollouts)
    yield (
      `the agent makes ${rollouts} rollouts an epoch; expected ${baseRollouts}, as in ${baseline}: set ` +
      'environment.promptsPerEpoch, environment.variationsPerPrompt, pools.train.mix or ' +
      'agent.rolloutsPerTask'
    );
}

function* stepDifferences(experiment: Experiment, trained: Experiment, name: string): Generator<string> {
  const [steps, expected] = [stepsOfAgent(experiment), stepsOfAgent(trained)];
  if (steps === undefined || steps === expected) return;
  const { batchSize } = experiment.agent.training!;
  yield batchSize === undefined
    ? `agent.training.stepsPerEpoch: got ${steps}; expected ${expected}, as ${name} has`
    : `agent.training.batchSize: got ${batchSize}, which makes ${steps} steps an epoch; expected ${expected}, as ${name} has`;
}
