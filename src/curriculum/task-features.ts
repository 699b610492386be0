import type { TaskRecord } from '../types/records.ts';
import type { World } from '../worlds/world.ts';

/** The fields of a task's record that the world computes from its spec; null = an invalid task. */
export function taskFeatures(
  world: World,
  spec: string | null,
): Pick<TaskRecord, 'spec' | 'prompt' | 'kind' | 'difficulty' | 'latents'> {
  if (spec === null) return { spec, prompt: '', kind: '', difficulty: 0, latents: {} };
  return {
    spec,
    prompt: world.agentPrompt(spec),
    kind: world.kind(spec),
    difficulty: world.difficulty(spec),
    latents: world.latents(spec),
  };
}
