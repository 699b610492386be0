import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomStream } from '../../src/numerics/random.ts';
import { randomCalls } from '../../src/worlds/calls/calls.ts';
import { callCategories } from '../../src/worlds/calls/task-schema.ts';
import type { CallsTask, Parameter } from '../../src/worlds/calls/task-schema.ts';
import { exampleTasks } from '../../src/worlds/language/draw-task.ts';
import { listCalls } from '../../src/worlds/language/execute.ts';
import { createLanguage } from '../../src/worlds/language/language.ts';
import { evaluationKinds, languageSettings } from '../../src/worlds/language/settings.ts';
import type { LanguageTask, OwnTool } from '../../src/worlds/language/task-schema.ts';
import type { World } from '../../src/worlds/world.ts';
import { valuesOf } from '../../test-support/json-schema-values.ts';
import type { OutputSchema } from '../../test-support/json-schema-values.ts';
import { read } from '../infra/repository.ts';
import { reasonOf, shippedWorld } from './json-tasks-support.ts';

/** Why a text that a schema admits may be no task. The READMEs of the worlds say what each means. */
const beyondSchemas = {
  any: ['control_token', 'too_long', 'unsolvable'],
  execution: [
    ...['no_prompt', 'answer_in_prompt', 'unknown_tool', 'too_deep', 'too_many_calls'],
    ...['wrong_arguments', 'too_large', 'no_answer'],
  ],
  call: ['no_prompt', 'answer_in_prompt', 'forbidden_name', 'unknown_tool', 'wrong_arguments'],
  exact: ['no_prompt', 'answer_in_prompt', 'no_answer'],
  reference: ['no_prompt', 'answer_in_prompt', 'no_answer'],
  calls: [
    ...['no_request', 'forbidden_name', 'unknown_tool', 'wrong_tools', 'repeated_call', 'wrong_arguments'],
    ...['anything_accepted', 'answer_in_prompt'],
  ],
  travel: ['wrong_dates', 'unknown_city', 'ambiguous_name', 'repeated_row', 'plan_fails'],
};

interface Case {
  type: 'language' | 'calls' | 'travel';
  kinds: readonly string[];
  world: World;
  reasons: readonly string[];
  /** Tasks of the world, of these kinds and of others. */
  tasks: unknown[];
  /** Makes the parts of a value fit each other, which no schema can. */
  reconcile?: (value: never, at: number) => unknown;
  /** Least share of values that are tasks then. */
  leastValid: number;
}

/** A program lists its tools; a call is one of the first tool, with an argument for each parameter. */
function reconcileLanguage(task: LanguageTask): LanguageTask {
  const { evaluation, tools } = task;
  if (evaluation.kind === 'execution')
    return { ...task, tools: [...new Set(listCalls(evaluation.program).map(({ tool }) => tool))] };
  if (evaluation.kind !== 'call') return task;
  const own = [...Map.groupBy(tools as OwnTool[], ({ name }) => name).values()].map(([first]) => first!);
  const values = { string: 'x', integer: 3, number: 0.5, boolean: true };
  const { name, parameters } = {
    ...own[0]!,
    parameters: { count: 'integer' as const, ...own[0]!.parameters },
  };
  const args = Object.entries(parameters).map(([parameter, type]) => [parameter, values[type]]);
  return {
    ...task,
    tools: [{ ...own[0]!, parameters }, ...own.slice(1)],
    target_action: { name, arguments: Object.fromEntries(args) as never },
  };
}

/** What tools require they know; the expected calls are random ones of these tools. */
function reconcileCalls(task: CallsTask, at: number): unknown {
  const reconcileParameter = ({ properties, required, items, ...rest }: Parameter): Parameter => ({
    ...rest,
    ...(items && { items: reconcileParameter(items) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, reconcileParameter(field)]),
      ),
      required: (required ?? []).filter((name) => Object.hasOwn(properties, name)),
    }),
  });
  const tools = task.tools.map(({ parameters, required, ...tool }, index) => ({
    ...tool,
    name: `tool_${index}`,
    parameters: reconcileParameter({ type: 'object', properties: parameters }).properties!,
    required: required.filter((name) => Object.hasOwn(parameters, name)),
  }));
  const calls = randomCalls({ ...task, tools }, randomStream(at));
  return {
    ...task,
    tools,
    calls: calls.map(({ name, arguments: args }) => ({
      name,
      arguments: Object.fromEntries(Object.entries(args).map(([parameter, value]) => [parameter, [value]])),
    })),
  };
}

function language(kinds: readonly (typeof evaluationKinds)[number][], leastValid: number): Case {
  const drawn = createLanguage(languageSettings.parse({ type: 'language', heldOutCalls: [1, 16] }));
  return {
    type: 'language',
    kinds,
    world: createLanguage(languageSettings.parse({ type: 'language', kinds })),
    reasons: kinds.flatMap((kind) => beyondSchemas[kind]),
    tasks: [
      ...exampleTasks,
      ...drawn.heldOutTasks(randomStream(7)).map((spec) => JSON.parse(spec) as unknown),
    ],
    reconcile: reconcileLanguage,
    leastValid,
  };
}

const shipped = async (type: 'calls' | 'travel', kinds: readonly string[]): Promise<Case> => ({
  type,
  kinds,
  world: await shippedWorld(type, type === 'calls' ? { categories: kinds } : {}),
  reasons: beyondSchemas[type],
  tasks: read(`experiments/tasks/${type}.jsonl`)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown),
  ...(type === 'calls' && { reconcile: reconcileCalls }),
  leastValid: type === 'calls' ? 0.3 : 0,
});

const cases: Case[] = [
  language(['execution'], 0.25),
  language(['call'], 0.8),
  language(['exact'], 0.7),
  language(['reference'], 0.8),
  language(['exact', 'reference'], 0.7),
  language(evaluationKinds, 0.6),
  await shipped('calls', callCategories),
  await shipped('travel', []),
];

const compileSchema = (schema: object) =>
  new Ajv2020({ strict: true, strictTypes: false, strictTuples: false }).compile(schema);

describe.each(cases.map((each) => [each.type, each.kinds.join(' '), each] as const))(
  'what a server lets the simulator of %s write %s',
  (type, _, { world, reasons, tasks, reconcile, leastValid }) => {
    const schema = world.taskSchema as OutputSchema;
    const admits = compileSchema(schema);
    const values = valuesOf(schema);

    /** A city's name is the one text whose rule no pattern has. */
    const isKnown = (reason: string, value: unknown): boolean =>
      ['valid', ...beyondSchemas.any, ...reasons].includes(reason) ||
      (type === 'travel' && reason === 'wrong_schema' && /from|to /i.test(JSON.stringify(value)));

    it('is a task, or fails by a rule that no schema can say', () => {
      fc.assert(
        fc.property(values, (value) => {
          expect(admits(value)).toBe(true);
          const reason = reasonOf(world, value);
          expect(isKnown(reason, value), reason).toBe(true);
        }),
        { numRuns: 300 },
      );
    });

    it.runIf(reconcile)('is mostly a task once its parts fit each other', () => {
      const reconciled = fc
        .sample(values, { numRuns: 200, seed: 1 })
        .map((v, at) => reconcile!(v as never, at));
      const outcomes = reconciled.map((value) => [reasonOf(world, value), value] as const);
      const valid = outcomes.filter(([reason]) => reason === 'valid');
      expect(valid.length / outcomes.length).toBeGreaterThan(leastValid);
      for (const [reason, value] of outcomes) expect(isKnown(reason, value), reason).toBe(true);
    });

    it('can be any task of these kinds, and no other', () => {
      for (const task of tasks) {
        const parsed = world.parseTask(JSON.stringify(task));
        expect(admits(task), JSON.stringify([task, admits.errors])).toBe(parsed.valid);
        if (parsed.valid) expect(admits(JSON.parse(parsed.spec))).toBe(true);
        expect(admits({ ...(task as object), reward: 1 })).toBe(false);
      }
      expect(tasks.some((task) => admits(task))).toBe(true);
    });

    it('has its fields in the order in which prompts show them', () => {
      for (const { properties } of nodesOf(schema))
        expect(Object.keys(properties ?? {})).toEqual(Object.keys(properties ?? {}).toSorted());
    });

    it('keeps to what grammar compilers can say', () => {
      const unsupported = [
        'format',
        'uniqueItems',
        'contains',
        'multipleOf',
        'allOf',
        'oneOf',
        'patternProperties',
      ];
      for (const node of nodesOf(schema)) {
        expect(unsupported.filter((keyword) => keyword in node)).toEqual([]);
        expect(node.pattern !== undefined && (node.minLength ?? node.maxLength) !== undefined).toBe(false);
        expect(node.propertyNames !== undefined && node.properties !== undefined).toBe(false);
        const repeats = [...(node.pattern ?? '').matchAll(/\{(?:\d+,)?(\d+)\}/g)].map(([, most]) =>
          Number(most),
        );
        // xgrammar 0.2.8 does not compile a pattern that repeats a class more often.
        for (const repeat of repeats) expect(repeat).toBeLessThanOrEqual(128);
        if (node.type === 'object') expect(node.additionalProperties ?? node.anyOf).toBeDefined();
      }
      expect(JSON.stringify(schema).length).toBeLessThan(24_000);
    });

    it('is explained in the README of the world', () => {
      const text = read(`src/worlds/${type}/README.md`);
      for (const reason of reasons) expect(text).toContain(`\`${reason}\``);
    });
  },
);

/** All schemas within a schema. */
function nodesOf(node: unknown): OutputSchema[] {
  if (Array.isArray(node)) return node.flatMap(nodesOf);
  if (typeof node !== 'object' || node === null) return [];
  const { properties, $defs, ...rest } = node as OutputSchema;
  const inner = [...Object.values(properties ?? {}), ...Object.values($defs ?? {}), ...Object.values(rest)];
  return [node, ...inner.flatMap(nodesOf)];
}
