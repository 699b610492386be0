import { expect, it } from 'vitest';
import { stalePolicies } from '../../src/runs/stale-policies.ts';
import { folderRef } from '../../src/store/references.ts';
import type { PolicyVersion, RunState } from '../../src/types/run-state.ts';

const policy = (name: string): PolicyVersion => ({
  name,
  checkpoint: folderRef('ab'.repeat(32), 1, 1),
  trainer_state: null,
});
/** The server's own model, which nobody publishes. */
const frozen = (name: string): PolicyVersion => ({ ...policy(name), checkpoint: null });

const line = (agent: PolicyVersion, environment: PolicyVersion, anchor?: PolicyVersion) => {
  const state: Partial<RunState> = {
    agent,
    environment,
    initial_agent: policy('agent@0000-a'),
    initial_environment: policy('environment@0000-e'),
    ...(anchor && { anchor: { agent: anchor } as NonNullable<RunState['anchor']> }),
  };
  return { outputs: { state: state as RunState } };
};
/** The ledger of a run that makes a new agent and a new simulator in each epoch, and may keep an anchor. */
const ledger = (epochs: number, anchor?: PolicyVersion) =>
  Array.from({ length: epochs + 1 }, (_, epoch) =>
    line(policy(`agent@000${epoch}-a`), policy(`environment@000${epoch}-e`), anchor),
  );

it('are those of the published policy’s role in the epoch that left the last two', () => {
  expect(stalePolicies(ledger(4), policy('agent@0005-a'))).toEqual(['agent@0002-a']);
  expect(stalePolicies(ledger(4), policy('environment@0005-e'))).toEqual(['environment@0002-e']);
});

it('are none while the run is young, and never the initial ones', () => {
  for (const epochs of [-1, 0, 1]) expect(stalePolicies(ledger(epochs), policy('agent@0002-a'))).toEqual([]);
  expect(stalePolicies(ledger(2), policy('agent@0003-a'))).toEqual([]);
});

it('are not the policies that a later epoch still asks: one that was not trained, the anchor', () => {
  const agent = policy('agent@0002-a');
  const untrained = ledger(4).with(4, line(agent, policy('environment@0004-e')));
  expect(stalePolicies(untrained, policy('agent@0005-a'))).toEqual([]);
  expect(stalePolicies(ledger(4, agent), policy('agent@0005-a'))).toEqual([]);
  // An anchor that was passed is stale with the last epoch that had it.
  const passed = ledger(4).with(2, line(agent, policy('environment@0002-e'), policy('agent@0001-a')));
  expect(stalePolicies(passed, policy('agent@0005-a'))).toEqual(['agent@0002-a', 'agent@0001-a']);
});

it('are never the one that is published, nor a model of the server’s own', () => {
  expect(stalePolicies(ledger(4), policy('agent@0002-a'))).toEqual([]);
  const lines = ledger(4).with(2, line(frozen('agent@0002-a'), policy('environment@0002-e')));
  expect(stalePolicies(lines, policy('agent@0005-a'))).toEqual([]);
});
