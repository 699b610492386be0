import type { PolicyRole, PolicyVersion } from '../types/run-state.ts';

/**
 * The same weights in the other role, under that role's name, for runs in which one model plays both. Each
 * role keeps the optimizer state of its own loss: moments of another loss would mislead its steps.
 * @throws RangeError for a policy whose weights only a server has
 */
export function weightsInRole(
  { name, checkpoint }: PolicyVersion,
  role: PolicyRole,
  { trainer_state }: PolicyVersion,
): PolicyVersion {
  const version = name.slice(name.indexOf('@'));
  if (checkpoint === null) throw new RangeError(`${name.slice(0, 80)}: the weights are the server's own`);
  return { name: `${role}${version}`, checkpoint, trainer_state };
}
