import { parseEvaluation } from '../../config/evaluation.ts';
import type { Benchmarks } from '../../config/method.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { changedFields } from '../../config/retune.ts';
import { longestEvaluatedId } from '../../evaluation/evaluation-id.ts';
import { resolveFork } from '../../runs/fork.ts';
import { workflowSettings } from '../../runs/settings-in-effect.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { ParseInput, RunPlan } from '../../types/activity-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { refusedByName } from '../evaluation/evaluation-inputs.ts';

/**
 * Reads what the workflow was started with and checks it: the same id with the same file is the same run,
 * with another file it is refused. A file with `startFrom` makes a fork. Nothing is written before everything
 * is known to be right.
 * @throws InvalidConfig naming the field
 */
export function createParseExperiment(dependencies: Dependencies) {
  return async ({ id, file }: ParseInput): Promise<RunPlan> => {
    checkId(id);
    const experiment = parseExperiment(file);
    const settings = workflowSettings(experiment, await dependencies.loadWorld(experiment.world));
    if (experiment.evaluation.benchmarks !== undefined)
      checkBenchmarks(dependencies, id, experiment.evaluation.benchmarks);
    const folder = dependencies.runFolder(id);
    const existing = await folder.readExperiment();
    if (existing !== undefined && existing.sha256 !== hashOf(experiment)) {
      throw new InvalidConfig(
        `experiment: the id ${JSON.stringify(id)} belongs to another experiment file (${changedFields(existing.experiment, experiment)}); start this one under another id, or go on with the file in ${folder.experimentFile}`,
      );
    }
    const fork =
      experiment.startFrom === null || (await folder.readFork()) !== undefined
        ? undefined
        : await resolveFork(dependencies, id, experiment, experiment.startFrom);
    const ref = await dependencies.store.putJson(experiment);
    if (fork !== undefined) await folder.writeFork(fork);
    if (existing === undefined) {
      await folder.writeExperiment(experiment);
      await folder.appendEvent(
        fork === undefined ? { type: 'started' } : { type: 'started', from: experiment.startFrom },
      );
    }
    return { run: { id, experiment: ref }, settings, searchAttributes: dependencies.searchAttributes };
  };
}

/** Found now, not at the first evaluation. @throws InvalidConfig */
function checkBenchmarks(dependencies: Dependencies, id: string, { every, ...how }: Benchmarks): void {
  if (id.length > longestEvaluatedId)
    throw new InvalidConfig(
      `workflow id: got ${JSON.stringify(id)}; with evaluation.benchmarks it has ${longestEvaluatedId} characters at most, since evaluations have longer ids`,
    );
  try {
    parseEvaluation({ name: 'of-an-epoch', policy: { type: 'run', run: id, epoch: every }, ...how });
    const refused = refusedByName(dependencies.suites.select(how.suites), how);
    if (refused !== undefined) throw new InvalidConfig(refused);
  } catch (error) {
    throw error instanceof InvalidConfig
      ? new InvalidConfig(
          `experiment: evaluation.benchmarks: ${error.message.replaceAll(/^evaluation: /gm, '')}`,
        )
      : error;
  }
}

function checkId(id: string): void {
  if (!/^[A-Za-z0-9-][A-Za-z0-9._-]{0,79}$/.test(id)) {
    throw new InvalidConfig(
      `workflow id: got ${JSON.stringify(id)}; it is the experiment's id: 1 to 80 letters, digits, dots, dashes or underscores, no dot or underscore first`,
    );
  }
}
