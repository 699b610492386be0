import { MAX_EVALUATED_RUN_ID_LENGTH, parseEvaluation } from '../../config/evaluation.ts';
import type { Benchmarks } from '../../config/evaluation-settings.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { changedFields } from '../../config/retune.ts';
import { runIdPattern, runIdRule } from '../../config/run-id.ts';
import { resolveFork } from '../../runs/fork.ts';
import { workflowSettings } from '../../runs/settings-in-effect.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { ParseInput } from '../../types/activity-inputs.ts';
import type { RunPlan } from '../../types/run-state.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { refusedByName } from '../evaluation/evaluation-inputs.ts';

/**
 * Parses and checks the file that the workflow was started with. The same id with the same file is the same
 * run; with another file it is refused. A file with `startFrom` makes a fork. Nothing is written before every
 * check has passed.
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
      const changes = changedFields(existing.experiment, experiment);
      throw new InvalidConfig(
        `experiment: the id ${JSON.stringify(id)} belongs to another experiment file (${changes}); ` +
          `start this one under another id, or continue with the file in ${folder.experimentFile}`,
      );
    }
    const { startFrom } = experiment;
    // Without an experiment file, a fork's start may be that of another file, whose start failed after it was written.
    const isForkWritten = existing !== undefined && (await folder.readFork()) !== undefined;
    const fork =
      startFrom === null || isForkWritten
        ? undefined
        : await resolveFork(dependencies, id, experiment, startFrom);
    const ref = await dependencies.store.putJson(experiment);
    if (fork !== undefined) await folder.writeFork(fork);
    if (existing === undefined) {
      if (fork === undefined) await folder.removeFork();
      await folder.writeExperiment(experiment);
      await folder.appendEvent(
        startFrom === null ? { type: 'started' } : { type: 'started', from: startFrom },
      );
    }
    return { run: { id, experiment: ref }, settings, searchAttributes: dependencies.searchAttributes };
  };
}

/** Checks now what would fail at the first evaluation. @throws InvalidConfig */
function checkBenchmarks(
  dependencies: Dependencies,
  id: string,
  { every, initial = false, ...evaluation }: Benchmarks,
): void {
  if (id.length > MAX_EVALUATED_RUN_ID_LENGTH)
    throw new InvalidConfig(
      `workflow id: got ${JSON.stringify(id)}; with evaluation.benchmarks it has ` +
        `${MAX_EVALUATED_RUN_ID_LENGTH} characters at most, since evaluations have longer ids`,
    );
  try {
    const policy = { type: 'run', run: id, epoch: initial ? 0 : every };
    parseEvaluation({ name: 'of-an-epoch', policy, ...evaluation });
    const refused = refusedByName(dependencies.suites.select(evaluation.suites), evaluation);
    if (refused !== undefined) throw new InvalidConfig(refused);
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    const problem = error.message.replaceAll(/^evaluation: /gm, '');
    throw new InvalidConfig(`experiment: evaluation.benchmarks: ${problem}`);
  }
}

function checkId(id: string): void {
  if (!runIdPattern.test(id))
    throw new InvalidConfig(
      `workflow id: got ${JSON.stringify(id)}; it is the experiment's id: ${runIdRule}`,
    );
}
