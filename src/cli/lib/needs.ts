import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { ClientOptions } from '@temporalio/client';
import { engineFolder } from '../../../infra/setup/locations.mjs';
import { isStamped } from '../../../infra/setup/virtual-environment.mjs';
import { parseComparison } from '../../config/comparison.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import type { Experiment } from '../../config/experiment.ts';
import { installedModelFolder } from '../../config/model-folder.ts';
import { parseNightly } from '../../config/nightly.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { combineNeeds, experimentNeeds, noNeeds, standardNeeds } from '../../dev-stack/stack-needs.ts';
import type { StackNeeds } from '../../dev-stack/stack-needs.ts';
import { vllmText, withBenchmarkLength } from '../../dev-stack/vllm-settings.ts';
import { ComparisonFolder, EvaluationFolder } from '../../runs/result-folders.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { runsFolder } from '../../runs/run-overview.ts';
import { directIfLocal } from '../../temporal/direct-connection.ts';
import { isObject } from '../../validation/json-schema.ts';
import { CliError, exitCodes } from '../context.ts';

/** What experiments of one file need together; their files are checked to agree on the model server. */
export function needsOf(experiments: readonly Experiment[]): StackNeeds {
  return experiments.reduce<StackNeeds>(
    (needs, experiment) => combineNeeds(needs, experimentNeeds(experiment)).needs,
    noNeeds,
  );
}

/** The experiments of an experiment file, a comparison or a nightly file. @throws InvalidConfig */
export function experimentsOfFile(raw: unknown): Experiment[] {
  if (isObject(raw) && 'arms' in raw) return Object.values(parseComparison(raw).arms);
  if (isObject(raw) && 'experiment' in raw) return [parseNightly(raw).experiment];
  return [parseExperiment(raw)];
}

/**
 * What it takes to ask a policy under test: nothing to train with, no server if it has its own, and room for
 * questions that are longer than a run's.
 */
export async function policyNeeds(
  { type, ...policy }: Evaluation['policy'],
  home: string,
): Promise<StackNeeds> {
  if (type !== 'run' || !('run' in policy)) return noNeeds;
  const { vllm, ...needs } = await runNeeds(home, policy.run);
  return { ...needs, trainer: false, vllm: vllm && withBenchmarkLength(vllm) };
}

/**
 * What the workflows need that were interrupted earlier: they continue as soon as a worker runs.
 * @param own id of what is about to be started, which needs nothing more than it says
 */
export async function interruptedNeeds(
  server: { address: string; namespace: string; options: ClientOptions },
  {
    own,
    needs,
    home,
    say,
  }: { own: string | null; needs: StackNeeds; home: string; say: (line: string) => void },
): Promise<StackNeeds> {
  const connection = await Connection.connect(directIfLocal({ address: server.address }));
  const client = new Client({ ...server.options, connection, namespace: server.namespace });
  let all = needs;
  try {
    for await (const { workflowId, type, parentExecution } of client.workflow.list({
      query: 'ExecutionStatus = "Running"',
    })) {
      const isPart = parentExecution !== undefined && type !== 'experiment';
      if (isPart || workflowId === own || type === 'rescoring') continue;
      const theirs = await storedNeeds(home, { type, id: workflowId });
      const combined = combineNeeds(all, theirs);
      if (!combined.isServed && theirs.vllm !== null && all.vllm !== null)
        say(
          `${workflowId}, interrupted earlier, waits: it needs vLLM with ${vllmText(theirs.vllm)}, and this ` +
            `stack starts one with ${vllmText(all.vllm)}`,
        );
      all = combined.needs;
    }
  } finally {
    await connection.close();
  }
  return all;
}

/**
 * What a workflow needs by the file that it was started with, as it is stored: everything that is standard if
 * none is, or another version of the code wrote it. Its workflow says what is wrong with it then.
 */
export async function storedNeeds(
  home: string,
  { type, id }: { type: string; id: string },
): Promise<StackNeeds> {
  if (type === 'experiment') return runNeeds(home, id);
  try {
    if (type === 'evaluation') {
      const evaluation = await new EvaluationFolder(join(home, 'evaluations'), id).read();
      if (evaluation !== undefined) return await policyNeeds(evaluation.policy, home);
    }
    if (type === 'comparison') {
      const stored = await new ComparisonFolder(join(home, 'comparisons'), id).read();
      if (stored !== undefined) return needsOf(Object.values(stored.comparison.arms));
    }
  } catch {
    return standardNeeds;
  }
  return standardNeeds;
}

async function runNeeds(home: string, id: string): Promise<StackNeeds> {
  const file = await new RunFolder(runsFolder(home), id).readExperiment();
  try {
    return file === undefined ? standardNeeds : experimentNeeds(parseExperiment(file.experiment));
  } catch {
    return standardNeeds;
  }
}

/** What set-up installs on request must be there. @throws InvalidConfig, CliError */
export function requireEngines(needs: StackNeeds, experiments: readonly Experiment[]): void {
  for (const { agent, environment } of experiments)
    for (const { model } of [agent, environment])
      if (model.type === 'pretrained') installedModelFolder(model.path);
  if (needs.vllm !== null && !isStamped(engineFolder('vllm')))
    throw new CliError(
      `serving: vLLM is not installed in ${engineFolder('vllm')}; run \`npm run engines -- vllm\`, or name a ` +
        'server that runs elsewhere in serving.baseUrl',
      exitCodes.badInput,
    );
}
