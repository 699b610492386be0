import { contaminated } from '../benchmarks/contamination/contaminated.ts';
import type { Contamination } from '../benchmarks/contamination/contaminated.ts';
import { contaminationFault } from '../benchmarks/contamination/fault.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import type { ParsedTask, World } from '../worlds/world.ts';

/** A benchmark question in what the agent would be given for a task. */
const questionIn = (world: World, spec: string): Contamination | null =>
  contaminated(world.agentPrompt(spec));

/** A text as a task that may be trained on: one that holds a question of a benchmark is none (`contaminated`). */
export function readTask(world: World, text: string): ParsedTask {
  const parsed = world.parseTask(text);
  return parsed.valid && questionIn(world, parsed.spec) !== null
    ? { valid: false, reason: 'contaminated' }
    : parsed;
}

/** @throws InvalidConfig for a task that holds a question of a benchmark, naming where the task stands, the benchmark and its case */
export function refuseContaminated(world: World, spec: string, place: string): void {
  const found = questionIn(world, spec);
  if (found !== null)
    throw new InvalidConfig(`experiment: ${place}: got ${spec.slice(0, 80)}; ${contaminationFault(found)}`);
}
