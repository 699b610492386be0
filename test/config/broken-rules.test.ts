import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseComparison } from '../../src/config/comparison.ts';
import { parseEndpoints } from '../../src/config/endpoints.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { parsePrices } from '../../src/config/prices.ts';
import { exampleFile, experimentFile, withFields } from '../../test-support/experiments.ts';

const serving = (baseUrl: string) =>
  withFields(exampleFile, {
    serving: { type: 'openai', baseUrl, publish: 'vllm-lora', returnsTokenIds: true },
  });
const endpoints = (endpoint: object) => JSON.stringify({ endpoints: { vllm: endpoint } });
const prices = JSON.parse(readFileSync('experiments/prices.json', 'utf8')) as object;

test.each([
  [
    'a password in an address, which is not quoted',
    () => parseExperiment(serving('http://u:pass@vllm:8000/v1')),
    'serving.baseUrl: got "http://***@vllm:8000/v1"; expected an address without user and password: keys are in variables',
  ],
  [
    'a query in an address',
    () => parseExperiment(serving('http://vllm:8000/v1?x=1')),
    'serving.baseUrl: got "http://vllm:8000/v1?x=1"; expected an address without "?"',
  ],
  [
    'a password with a slash',
    () => parseExperiment(serving('http://u:pa/ss@vllm:8000/v1')),
    'serving.baseUrl: got "http://***@vllm:8000/v1"; expected a URL',
  ],
  [
    'a password in the address of an endpoint',
    () => parseEndpoints(endpoints({ baseUrl: 'http://u:pass@vllm:8000/v1' }), 'endpoints.json'),
    'endpoints.vllm.baseUrl: got "http://***@vllm:8000/v1"; expected an address without user and password',
  ],
  [
    'two keys of an endpoint',
    () =>
      parseEndpoints(
        endpoints({ baseUrl: 'http://vllm:8000/v1', apiKeyEnv: 'KEY', apiKeyFile: '/key' }),
        'endpoints.json',
      ),
    'endpoints.vllm.apiKeyFile: got "/key"; expected apiKeyEnv or apiKeyFile, not both',
  ],
  [
    'a list that is too long',
    () =>
      parseComparison({
        ...(experimentFile('compare-tiny') as object),
        seeds: Array.from({ length: 101 }, (_, seed) => seed),
      }),
    '...; expected at most 100 entries',
  ],
  [
    'a text that is too long',
    () => parseEndpoints(endpoints({ baseUrl: 'http://a', apiKeyFile: 'x'.repeat(5_000) }), 'endpoints.json'),
    '...; expected at most 4096 characters',
  ],
  [
    'a date of another form',
    () => parsePrices({ ...prices, date: '22.11.2026' }),
    'date: got "22.11.2026"; expected a date such as "2026-11-22"',
  ],
])('%s: the rule that is broken is said', (_, parse, message) => {
  expect(parse).toThrow(message);
  expect(parse).not.toThrow(/pass@|pa\/ss/);
});
