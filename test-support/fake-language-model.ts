import { deriveSeed, randomStream } from '../src/numerics/random.ts';
import type { RandomStream } from '../src/numerics/random.ts';
import { drawLanguageTask } from '../src/worlds/language/draw-task.ts';
import { createLanguage } from '../src/worlds/language/language.ts';
import type { LanguageSettings } from '../src/worlds/language/settings.ts';
import { languageSpec } from '../src/worlds/language/task.ts';
import type { FakeModel } from './fake-model-server.ts';

export interface LanguagePlayer {
  /** Share of the simulator's texts that are no JSON, unless a schema or a repair asks for it. */
  invalid?: number;
  /** Whether it mends a text when it is asked again. */
  mends?: boolean;
  /** Share of its questions whose label is wrong. */
  wrongLabels?: number;
  /** Share of its tasks that are questions; the others are programs. */
  questions?: number;
  /** What it puts before its questions. */
  preamble?: string;
  /** Chance that the agent is right. */
  success?: (difficulty: number) => number;
  /** What the agent answers where it knows nothing. */
  otherwise?: string;
}

const capitals = [
  ['France', 'Paris'],
  ['Italy', 'Rome'],
  ['Norway', 'Oslo'],
  ['Japan', 'Tokyo'],
  ['Peru', 'Lima'],
  ['Egypt', 'Cairo'],
] as const;

/**
 * What is true of a question that the simulator below writes, whatever it says; undefined for anything else.
 */
export const truthOf = (text: string): string | undefined =>
  capitals.find(([country]) => text.includes(`capital of ${country}?`))?.[1];

/**
 * Plays both policies of the language world, told apart by the served name: `environment…` writes tasks, any
 * other answers them.
 */
export function fakeLanguageModel(
  settings: LanguageSettings,
  {
    invalid = 0,
    mends = true,
    wrongLabels = 0,
    questions = 0.5,
    preamble = '',
    success = (difficulty) => 0.9 ** difficulty,
    otherwise = 'I do not know.',
  }: LanguagePlayer = {},
): FakeModel {
  const world = createLanguage({ ...settings, tasksFile: null });
  const specs = new Map<string, string>();
  const remember = (spec: string): string => {
    specs.set(world.agentPrompt(spec), spec);
    return spec;
  };
  world.heldOutTasks(randomStream(deriveSeed(0, 'held-out-tasks'))).forEach(remember);

  const write = (prompt: string, random: RandomStream, schema: object | undefined): string => {
    const again = prompt.includes('That is no task');
    if (schema === undefined && random.next() < invalid && !(again && mends))
      return random.pick(['Sure! Here is a task:', '{"prompt": "half', '{}']);
    if (random.next() >= questions)
      return remember(languageSpec(drawLanguageTask(1 + random.int(6), random, settings)));
    const [country, capital] = random.pick(capitals);
    const otherCities = capitals.map(([, city]) => city).filter((city) => city !== capital);
    const answer = random.next() < wrongLabels ? random.pick(otherCities) : capital;
    return JSON.stringify({
      prompt: `${preamble}Which city is the capital of ${country}? Quiz ${random.int(10_000)}.`,
      tools: [],
      evaluation: { kind: 'exact', answers: [answer] },
      latents: { topic: 'cities' },
    });
  };
  const answer = (prompt: string, random: RandomStream): string => {
    const capital = truthOf(prompt);
    if (capital !== undefined)
      return `It is well known.\nAnswer: ${random.next() < 0.9 ? capital : 'Atlantis'}`;
    const spec = specs.get(prompt);
    if (spec === undefined) return otherwise;
    return random.next() < success(world.difficulty(spec)) ? world.referenceAnswer(spec) : 'Answer: -1';
  };
  return (prompt, random, model, schema) =>
    model.startsWith('environment') ? write(prompt, random, schema) : answer(prompt, random);
}
