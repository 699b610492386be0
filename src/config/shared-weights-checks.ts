import { hashOf } from '../store/canonical-json.ts';
import type { Experiment } from './experiment.ts';

/** One model in both roles has one kind of weights, which are ours to write. */
export function* sharedWeightsProblems(experiment: Experiment): Generator<string> {
  const { agent, environment, arm, serving, trainer } = experiment;
  const { sharesWeights } = environment;
  if (sharesWeights === undefined) return;
  const got = `environment.sharesWeights: got "${sharesWeights}"`;
  if (hashOf(agent.model) !== hashOf(environment.model))
    yield `${got}; expected agent.model and environment.model to be the same, since one model plays both roles`;
  if (sharesWeights === 'always' && trainer.concurrentUpdates)
    yield 'trainer.concurrentUpdates: got true; with environment.sharesWeights "always" the second update starts from the first: leave it out';
  if (environment.serving !== undefined)
    yield `${got}; expected no environment.serving, whose simulator has weights of its own`;
  if (serving.type === 'openai' && serving.publish === 'none')
    yield `${got}; expected a server that policies are published to, since this one has weights of its own (serving.publish "none")`;
  if (
    sharesWeights === 'always' &&
    (arm.type !== 'genenv' || agent.training === null || environment.training === null)
  )
    yield `${got}; expected the arm "genenv" with both policies trained: leave it out, or set it to "start"`;
}
