import { worldProblems } from '../worlds/settings.ts';
import { budgetProblems } from './budget-checks.ts';
import type { Experiment } from './experiment.ts';
import { methodProblems, scheduleProblems, successBinProblems } from './method-checks.ts';
import { modelProblems, textProblems } from './model-checks.ts';
import {
  adapterServerProblems,
  embeddedServerProblems,
  serversApartProblems,
  servingProblems,
} from './serving-checks.ts';
import { sharedWeightsProblems } from './shared-weights-checks.ts';
import { trainerProblems } from './trainer-checks.ts';

/** Combinations of valid fields that no run could honour: `<field>: got <value>; <what is allowed>`. */
export function impossibleCombinations(experiment: Experiment): string[] {
  return [
    ...budgetProblems(experiment),
    ...methodProblems(experiment),
    ...scheduleProblems(experiment),
    ...sharedWeightsProblems(experiment),
    ...successBinProblems(experiment),
    ...servingProblems(experiment),
    ...serversApartProblems(experiment),
    ...adapterServerProblems(experiment),
    ...embeddedServerProblems(experiment),
    ...modelProblems(experiment),
    ...worldProblems(experiment.world),
    ...textProblems(experiment),
    ...trainerProblems(experiment),
    ...evaluationProblems(experiment),
  ];
}

function* evaluationProblems({ evaluation, agent, serving }: Experiment): Generator<string> {
  const { passAtK, samples, temperature, exact, logprob } = evaluation;
  if (logprob && serving.type !== 'embedded')
    yield (
      `evaluation.logprob: got true; a server of serving.type "${serving.type}" gives no probabilities of whole ` +
      'answers: leave it out, or expected "embedded"'
    );
  if (exact && temperature !== 1)
    yield `evaluation.exact: got true; the probability is that at evaluation.temperature 1, and it is ${temperature}`;
  if (exact && serving.type !== 'embedded')
    yield (
      `evaluation.exact: got true; a server of serving.type "${serving.type}" gives no probabilities of whole ` +
      'answers, since its API does not name the token that ends them: leave it out, or expected "embedded"'
    );
  if (passAtK !== undefined && samples < passAtK)
    yield (
      `evaluation.samples: got ${samples}; pass@${passAtK} (evaluation.passAtK) takes at least ` +
      `${passAtK} attempts at each held-out task`
    );
  if (passAtK !== undefined && temperature === 0)
    yield (
      'evaluation.temperature: got 0; greedy attempts are all alike, so pass@k (evaluation.passAtK) ' +
      'needs a temperature above 0'
    );
  if (evaluation.benchmarks !== undefined && agent.model.type === 'scratch')
    yield (
      'evaluation.benchmarks: got suites to evaluate on; an agent made from scratch knows the ' +
      'characters of its world alone: expected none, or agent.model.type "pretrained"'
    );
}
