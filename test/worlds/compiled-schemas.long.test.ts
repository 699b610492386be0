import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { engineFolder, repository } from '../../infra/setup/locations.mjs';
import { isStamped } from '../../infra/setup/virtual-environment.mjs';
import { randomStream } from '../../src/numerics/random.ts';
import { callsOutputSchema } from '../../src/worlds/calls/output-schema.ts';
import { callCategories } from '../../src/worlds/calls/task-schema.ts';
import { exampleTasks } from '../../src/worlds/language/draw-task.ts';
import { languageSpec } from '../../src/worlds/language/task.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { worldSettings } from '../../src/worlds/settings.ts';
import type { World } from '../../src/worlds/world.ts';
import { shippedWorld } from './json-tasks-support.ts';

/** What the grammar compiler of the installed vLLM makes of what worlds send it. */

const language = (kinds?: readonly string[]): World =>
  createWorld(worldSettings.parse({ type: 'language', ...(kinds && { kinds }) }));
const programs = createWorld(worldSettings.parse({ type: 'programs' }));
const calls = await shippedWorld('calls');
const travel = await shippedWorld('travel');

const specsOf = (world: World): string[] => [
  ...world.baseTasks(randomStream(1)),
  ...world.heldOutTasks(randomStream(1)),
];
const schemaOf = (schema: unknown) => ({ schema: JSON.stringify(schema) });
const examples = exampleTasks.map(languageSpec);

interface Case {
  name: string;
  request: { schema: string } | { grammar: string };
  tasks: string[];
  /** Texts that are no such tasks. */
  strangers: string[];
}

const cases: Case[] = [
  {
    name: 'language',
    request: schemaOf(language().taskSchema),
    tasks: [...examples, ...specsOf(language())],
    strangers: ['{}', ...specsOf(calls)],
  },
  ...exampleTasks.map(({ evaluation: { kind } }, at) => ({
    name: `language ${kind}`,
    request: schemaOf(language([kind]).taskSchema),
    tasks: [examples[at]!],
    strangers: examples.filter((_, index) => index !== at),
  })),
  { name: 'calls', request: schemaOf(calls.taskSchema), tasks: specsOf(calls), strangers: examples },
  ...callCategories.map((category) => ({
    name: `calls ${category}`,
    request: schemaOf(callsOutputSchema({ categories: [category] })),
    tasks: specsOf(calls).filter((spec) => calls.kind(spec) === category),
    strangers: specsOf(calls).filter((spec) => calls.kind(spec) !== category),
  })),
  { name: 'travel', request: schemaOf(travel.taskSchema), tasks: specsOf(travel), strangers: examples },
  {
    name: 'programs',
    request: { grammar: programs.taskGrammar! },
    tasks: programs.baseTasks(randomStream(1)),
    strangers: ['', 'x', 'add(1)', ...examples],
  },
];

const [vllm, model] = [engineFolder('vllm'), engineFolder('smollm2')];

interface Compiled {
  error: string | null;
  /** Of each text, whether the compiled schema or grammar takes it. */
  accepts: boolean[];
}

describe.runIf(isStamped(vllm) && isStamped(model))('the compiler of the installed vLLM', () => {
  let compiled: Compiled[];
  beforeAll(() => {
    const requests = cases.map(({ request, tasks, strangers }) => ({
      ...request,
      texts: [...tasks, ...strangers],
    }));
    const script = join(repository, 'test-support/compile_grammars.py');
    const output = execFileSync(join(vllm, 'bin/python'), [script, model], {
      input: JSON.stringify(requests),
      stdio: ['pipe', 'pipe', 'ignore'],
      maxBuffer: 2 ** 26,
    });
    compiled = JSON.parse(output.toString()) as Compiled[];
  }, 300_000);

  it.each(cases.map(({ name }, at) => [name, at] as const))(
    'takes what the world sends, with every task and no other text: %s',
    (_, at) => {
      const { tasks, strangers } = cases[at]!;
      const { error, accepts } = compiled[at]!;
      expect(error).toBeNull();
      expect(tasks.filter((__, index) => accepts[index] !== true)).toEqual([]);
      expect(strangers.filter((__, index) => accepts[tasks.length + index] === true)).toEqual([]);
    },
  );
});
