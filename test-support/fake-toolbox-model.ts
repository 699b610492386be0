import type { RandomStream } from '../src/numerics/random.ts';
import { createWorld } from '../src/worlds/registry.ts';
import type { WorldSettings } from '../src/worlds/settings.ts';
import { toolboxAlphabet } from '../src/worlds/toolbox/call.ts';
import type { FakeModel } from './fake-model-server.ts';

export interface ToolboxPlayer {
  /** Chance that the agent's answer is right. */
  success?: (difficulty: number, model: string, spec: string) => number;
  /** Length of the argument that the simulator writes. */
  taskLength?: (random: RandomStream, model: string) => number;
  /** Share of the simulator's texts that are no task, and those texts. */
  invalid?: { share: number; texts: readonly string[] };
  /** What the agent answers instead of a call. */
  answer?: (prompt: string, random: RandomStream) => string;
  /** What the simulator writes instead of a drawn task. */
  task?: (prompt: string, random: RandomStream, model: string) => string;
}

const solvable = (difficulty: number): number => 0.85 ** difficulty;

/** The chance that the agent of `fakeToolboxModel` gives an answer, if it is the right one; else 0. */
export function toolboxProbability(settings: WorldSettings, { success = solvable }: ToolboxPlayer) {
  const world = createWorld(settings);
  return (prompt: string, completion: string, model: string): number => {
    const spec = prompt.replace(/_*=$/, '');
    return completion === world.referenceAnswer(spec) ? success(world.difficulty(spec), model, spec) : 0;
  };
}

/**
 * Plays both policies of the toolbox world, told apart by the served name: `agent@…` answers tasks,
 * `environment@…` writes them.
 */
export function fakeToolboxModel(
  settings: WorldSettings,
  { success = solvable, taskLength, invalid, task, answer: answersWith }: ToolboxPlayer = {},
): FakeModel {
  if (settings.type !== 'toolbox') throw new Error(`a model of the toolbox, not of ${settings.type}`);
  const world = createWorld(settings);
  const { tools, symbols, maxLength } = toolboxAlphabet(settings);

  const answer = (prompt: string, random: RandomStream, model: string): string => {
    if (answersWith) return answersWith(prompt, random);
    const spec = prompt.replace(/_*=$/, '');
    if (random.next() < success(world.difficulty(spec), model, spec)) return world.referenceAnswer(spec);
    const right = world.referenceAnswer(spec);
    for (;;) {
      const wrong = world.randomAnswer(spec, random);
      if (wrong !== right) return wrong;
    }
  };
  const write = (prompt: string, random: RandomStream, model: string): string => {
    if (invalid && random.next() < invalid.share) return random.pick(invalid.texts);
    if (task) return task(prompt, random, model);
    const length = Math.max(1, Math.min(maxLength, taskLength?.(random, model) ?? 1 + random.int(8)));
    return `${random.pick(tools)}:${Array.from({ length }, () => random.pick(symbols)).join('')}`;
  };
  return (prompt, random, model) => (model.startsWith('environment') ? write : answer)(prompt, random, model);
}
