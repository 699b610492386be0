/** Settings of the method that are valid one by one, and that no run could honour together. */
import { maxRollouts } from './budget-checks.ts';
import { replayCount, rolesOf } from './experiment.ts';
import type { Experiment } from './experiment.ts';

export function* methodProblems(experiment: Experiment): Generator<string> {
  const { agent, environment, arm } = experiment;
  if (arm.type !== 'genenv' && environment.training !== null)
    yield (
      `environment.training: got settings; the arm "${arm.type}" keeps the simulator frozen, leave the ` +
      'field out or set it to null'
    );
  if (!['genenv', 'random', 'best-of-n'].includes(arm.type) && agent.training === null)
    yield `agent.training: got null; the arm "${arm.type}" trains the agent alone, and this leaves nothing to train`;
  if (arm.type === 'genenv' && environment.training === null && agent.training === null)
    yield 'agent.training: got null; the arm "genenv" trains the agent, the environment, or both';
  if (arm.type === 'window' && arm.lowerAt !== undefined && arm.lowerAt >= arm.raiseAt)
    yield `arm.lowerAt: got ${arm.lowerAt}; expected less than arm.raiseAt (${arm.raiseAt})`;
  const groups = environment.promptsPerEpoch * environment.variationsPerPrompt;
  if (agent.training && agent.training.minInformativeGroups > groups)
    yield (
      `agent.training.minInformativeGroups: got ${agent.training.minInformativeGroups}; an epoch has ` +
      `only ${groups} new tasks`
    );
  const stepsPerEpoch = agent.training?.stepsPerEpoch;
  if (stepsPerEpoch !== undefined && stepsPerEpoch > groups)
    yield (
      `agent.training.stepsPerEpoch: got ${stepsPerEpoch}; an epoch has only ${groups} ` +
      'new tasks, and a group is never split'
    );
  if (agent.training && (stepsPerEpoch === undefined) === (agent.training.batchSize === undefined))
    yield (
      `agent.training.batchSize: got ${agent.training.batchSize ?? 'nothing'} with stepsPerEpoch ` +
      `${stepsPerEpoch ?? 'left out'}; expected one of the two`
    );
  yield* dynamicSamplingProblems(experiment);
  for (const { role, policy } of rolesOf(experiment)) {
    if (policy.training && policy.training.schedule !== 'constant' && policy.training.scheduleSteps === null)
      yield (
        `${role}.training.scheduleSteps: got null; the schedule "${policy.training.schedule}" needs its ` +
        'number of steps'
      );
  }
}

export function* successBinProblems({ arm }: Experiment): Generator<string> {
  if (arm.type !== 'success-bin') return;
  const { tasks, candidates, attempts } = arm;
  if (tasks > candidates)
    yield `arm.tasks: got ${tasks}; expected at most arm.candidates (${candidates}), of which they are chosen`;
  if (2 * candidates * attempts > maxRollouts)
    yield (
      `arm.attempts: got ${attempts}; with ${candidates} candidates (arm.candidates) expected at most ` +
      `${Math.floor(maxRollouts / 2 / candidates)}`
    );
}

export function* scheduleProblems({ difficulty: { alphaSchedule = [] } }: Experiment): Generator<string> {
  for (const [index, { fromEpoch }] of alphaSchedule.entries()) {
    const earlier = alphaSchedule[index - 1]?.fromEpoch ?? 0;
    if (fromEpoch <= earlier)
      yield `difficulty.alphaSchedule[${index}].fromEpoch: got ${fromEpoch}; expected more than ${earlier}, of the step before`;
  }
}

function* dynamicSamplingProblems(experiment: Experiment): Generator<string> {
  const { agent, environment } = experiment;
  const dynamic = agent.training?.dynamicSampling;
  if (dynamic === undefined) return;
  if (!agent.training!.dropZeroVariance)
    yield (
      'agent.training.dropZeroVariance: got false; agent.training.dynamicSampling refills what is dropped: ' +
      'set it to true, or leave dynamicSampling out'
    );
  const round = environment.promptsPerEpoch * environment.variationsPerPrompt + replayCount(experiment);
  if (dynamic.informativeGroups > round * dynamic.maxRounds)
    yield (
      `agent.training.dynamicSampling.informativeGroups: got ${dynamic.informativeGroups}; ${dynamic.maxRounds} ` +
      `rounds have only ${round * dynamic.maxRounds} tasks`
    );
}
