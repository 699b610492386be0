import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporalPath } from '../../infra/setup/locations.mjs';
import { run } from '../../infra/setup/run-command.mjs';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { pauseUpdate, resumeUpdate } from '../../src/workflows/messages.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** A run that is pinned to a deployment version moves to the current one, which takes a server of 1.31 or newer. */

const minutes = 60_000;
const file = withFields(tinyExperiment(), { epochs: 4, 'durability.epochsPerRun': 50 });
const version = (buildId: string) => ({
  TEMPORAL_DEPLOYMENT_NAME: 'genenv',
  TEMPORAL_WORKER_BUILD_ID: buildId,
});
let stack: InstantStack;
beforeAll(async () => {
  stack = await InstantStack.start(parseExperiment(file).world, { environment: version('v1') });
}, 15 * minutes);
afterAll(() => stack[Symbol.asyncDispose](), minutes);

const makeCurrent = (buildId: string): Promise<void> => {
  const names = ['--deployment-name', 'genenv', '--build-id', buildId];
  const args = ['--address', stack.address, 'worker', 'deployment', 'set-current-version', ...names, '--yes'];
  return until(
    () =>
      run(temporalPath(), args).then(
        () => true,
        () => false,
      ),
    2 * minutes,
    `${buildId} to be current`,
  );
};
const versionOf = async (workflowId: string): Promise<string | null | undefined> =>
  (await stack.client.workflow.getHandle(workflowId).describe()).raw.workflowExecutionInfo?.versioningInfo
    ?.deploymentVersion?.buildId;

test(
  'it continues as new on the current version after its epoch, long before it would otherwise',
  async () => {
    await makeCurrent('v1');
    const started = await stack.client.workflow.start('experiment', {
      args: [file],
      workflowId: 'upgrades',
      taskQueue: queues.workflows,
    });
    // Held before an epoch, however slow what follows is.
    await started.executeUpdate(pauseUpdate);
    await using current = await stack.addWorker(version('v2'));
    await makeCurrent('v2');
    await started.executeUpdate(resumeUpdate);
    await stack.client.workflow.getHandle('upgrades').result();
    await current.stop();
    const versions = await Promise.all(
      ['upgrades', 'upgrades/epoch-0001', 'upgrades/epoch-0004'].map(versionOf),
    );
    expect(versions).toEqual(['v2', 'v1', 'v2']);
  },
  15 * minutes,
);
