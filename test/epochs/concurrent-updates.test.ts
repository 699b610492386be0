import { expect, it } from 'vitest';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { someRun } from '../activities/some-run.ts';

it('both updates run at a time if the file says so, and become what they become one after the other', async () => {
  const concurrent = await someRun({ 'trainer.concurrentUpdates': true });
  const { trainAgent, trainEnvironment } = concurrent.activities;
  const agentStarts = Promise.withResolvers<undefined>();
  const environmentStarts = Promise.withResolvers<undefined>();
  // Each waits until the other has begun: in turn, none would end.
  const activities = {
    ...concurrent.activities,
    trainAgent: async (...input: Parameters<typeof trainAgent>) => {
      agentStarts.resolve(undefined);
      await environmentStarts.promise;
      return trainAgent(...input);
    },
    trainEnvironment: async (...input: Parameters<typeof trainEnvironment>) => {
      environmentStarts.resolve(undefined);
      await agentStarts.promise;
      return trainEnvironment(...input);
    },
  };
  const { state } = await plainEpoch(activities, concurrent.plan, concurrent.prepared);
  const inTurn = await someRun();
  const { state: expected } = await inTurn.epochs(1);
  expect(inTurn.plan.settings.concurrentUpdates).toBeUndefined();
  expect([state.agent.name, state.environment.name]).toEqual([
    expected.agent.name,
    expected.environment.name,
  ]);
});
