import type { PolicyVersion, RunState } from '../types/run-state.ts';

/** Committed epochs whose policies stay on the model servers: the last, and one to go back to or evaluate. */
const KEPT_EPOCHS = 2;

/**
 * Names that model servers may forget when a policy is published: those of the same role that became stale by
 * now, and no older ones, which an evaluation may have published again. A request to a policy that was
 * forgotten too early publishes it again.
 * @param lines of the ledger, oldest first
 */
export function stalePolicies(
  lines: readonly { outputs: { state: RunState } }[],
  published: PolicyVersion,
): string[] {
  const kept = new Set(lines.slice(-KEPT_EPOCHS).flatMap(({ outputs }) => policyNames(outputs.state)));
  const before = lines.at(-KEPT_EPOCHS - 1);
  if (before === undefined) return [];
  const role = roleOf(published.name);
  return policyNames(before.outputs.state).filter(
    (name) => roleOf(name) === role && name !== published.name && !kept.has(name),
  );
}

/** The served policies that an epoch may ask. */
function policyNames(state: RunState): string[] {
  const { agent, environment, initial_agent, initial_environment, anchor } = state;
  const policies = [
    agent,
    environment,
    initial_agent,
    initial_environment,
    ...(anchor ? [anchor.agent] : []),
  ];
  return [...new Set(policies.filter(({ checkpoint }) => checkpoint !== null).map(({ name }) => name))];
}

/** A name is `<role>@<epoch>-<hash>`. */
const roleOf = (name: string): string => name.split('@')[0]!;
