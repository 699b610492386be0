import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { simulatorAdvice } from '../../src/scoring/simulator-advice.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';

const model = { type: 'pretrained', path: '/models/small', adapter: { r: 8 } };
const coldStart = 'a cold start (environment.model.warmUp)';
const held = 'serving.structuredOutput';

/** Advice to a pretrained simulator; a world says itself what its server can hold a text to. */
function adviceFor(
  serving: object,
  {
    form = {},
    world = 'toolbox',
  }: { form?: { taskSchema?: object; taskGrammar?: string }; world?: string } = {},
): string[] {
  const experiment = parseExperiment(
    withFields(exampleFile, { 'agent.model': model, 'environment.model': model, serving }),
  );
  const settings = { ...experiment.world, type: world } as typeof experiment.world;
  return simulatorAdvice({ ...experiment, world: settings }, form as object, new Set());
}

const schema = { form: { taskSchema: { type: 'object' } } };
const grammar = { form: { taskGrammar: 'root ::= "a"' } };
const openai = {
  type: 'openai',
  baseUrl: 'http://127.0.0.1:9/v1',
  publish: 'vllm-lora',
  returnsTokenIds: true,
};

describe('advice on structured output', () => {
  it.each<[string, object, object, boolean]>([
    ['a vLLM that holds texts to the schema already, since nothing is said', { type: 'vllm' }, schema, false],
    ['a vLLM that was told not to', { type: 'vllm', structuredOutput: 'none' }, schema, true],
    ['a vLLM that was told not to, and a grammar', { type: 'vllm', structuredOutput: 'none' }, grammar, true],
    ['a world without a form', { type: 'vllm', structuredOutput: 'none' }, {}, false],
    ['an API that can be told to', openai, schema, true],
    ['an API that was told to', { ...openai, structuredOutput: 'json_schema' }, schema, false],
    ['an API, which knows no grammars', openai, grammar, false],
    ['the embedded server', { type: 'embedded' }, schema, false],
    [
      'the embedded server that was told not to',
      { type: 'embedded', structuredOutput: 'none' },
      grammar,
      true,
    ],
  ])('%s', (_, serving, world, isGiven) => {
    expect(adviceFor(serving, world)).toEqual([...(isGiven ? [held] : []), coldStart, 'a larger model']);
  });
});

it('advises no warm-up in worlds that have no corpus for it', () => {
  for (const world of ['language', 'calls', 'travel'])
    expect(adviceFor({ type: 'vllm' }, { world })).toEqual(['a larger model']);
});
