import { expect, it } from 'vitest';
import { servingSchema } from '../../src/config/serving.ts';
import { structuredOutput } from '../../src/curriculum/generate-candidates.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { worldSettings } from '../../src/worlds/settings.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';

const [json, line, symbols] = ['language', 'programs', 'toolbox'].map((type) =>
  createWorld(worldSettings.parse({ type })),
);
const openai = {
  type: 'openai',
  baseUrl: 'http://127.0.0.1:1/v1',
  publish: 'none',
  returnsTokenIds: false,
};
const vllm = { type: 'vllm', baseUrl: 'http://127.0.0.1:1/v1' };

it.each([
  ['the embedded server', { type: 'embedded' }, json!.taskSchema, line!.taskGrammar],
  [
    'the embedded server unless the file forbids it',
    { type: 'embedded', structuredOutput: 'none' },
    undefined,
    undefined,
  ],
  ['a server of OpenAI’s API, unless the file asks for it', openai, undefined, undefined],
  ['that server if asked', { ...openai, structuredOutput: 'json_schema' }, json!.taskSchema, undefined],
  ['vLLM', vllm, json!.taskSchema, line!.taskGrammar],
  ['a managed vLLM', { type: 'vllm' }, json!.taskSchema, line!.taskGrammar],
  ['vLLM if asked', { ...vllm, structuredOutput: 'native' }, json!.taskSchema, line!.taskGrammar],
  ['vLLM unless the file forbids it', { ...vllm, structuredOutput: 'none' }, undefined, undefined],
])('holds a simulator to what the world has: %s', (_, fields, schema, grammar) => {
  const experiment = { ...exampleExperiment(), serving: servingSchema.parse(fields) };
  expect(structuredOutput(experiment, json!)).toEqual(schema === undefined ? {} : { schema });
  expect(structuredOutput(experiment, line!)).toEqual(grammar === undefined ? {} : { grammar });
  expect(structuredOutput(experiment, symbols!)).toEqual({});
});

it.each([
  ['unless the file asks for it', {}, undefined],
  ['if asked', { structuredOutput: 'json_schema' as const }, json!.taskSchema],
])('holds a simulator on a server of its own to a schema %s, whatever the agent has', (_, fields, schema) => {
  const { environment, ...experiment } = exampleExperiment();
  const own = { type: 'openai', baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: null, model: 'writer' } as const;
  const split = {
    ...experiment,
    serving: servingSchema.parse(vllm),
    environment: { ...environment, serving: { ...own, ...fields } },
  };
  expect(structuredOutput(split, json!)).toEqual(schema === undefined ? {} : { schema });
});

it('has something to hold it to', () => {
  expect(json!.taskSchema).toBeDefined();
  expect(line!.taskGrammar).toMatch(/^root ::= /);
});
