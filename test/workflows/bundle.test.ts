import { builtinModules } from 'node:module';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { workflowSources } from '../../src/worker/workflow-sources.ts';
import { keysOf, keyText } from '../temporal/some-keys.ts';

/** Every cached workflow holds this much code, so each import costs memory in all of them. */
const maxCharacters = 1_600_000;

describe('the bundle of the workflows', () => {
  let code = '';
  let modules: string[] = [];

  beforeAll(async () => {
    // As the worker bundles them (src/worker/).
    const bundle = await bundleWorkflowCode({
      ...workflowSources(),
      failureConverterPath: createDataConverter(keysOf(keyText('a'))).failureConverterPath!,
      ignoreModules: ['node:crypto'],
      logger: new DefaultLogger('WARN'),
    });
    ({ code } = bundle);
    const [, map = ''] = /sourceMappingURL=data:[^,]*base64,([\w+/=]+)/.exec(code) ?? [];
    modules = (JSON.parse(Buffer.from(map, 'base64').toString('utf8')) as { sources: string[] }).sources;
  });

  it('has the workflows', () => {
    expect(modules.some((module) => module.endsWith('src/workflows/experiment.ts'))).toBe(true);
    expect(modules.some((module) => module.includes('@temporalio/workflow'))).toBe(true);
    expect(modules.some((module) => module.endsWith('src/temporal/failure-converter.ts'))).toBe(true);
    expect(modules.filter((module) => module.includes('src/temporal/'))).toHaveLength(2);
  });

  it.each([
    'zod',
    'openai',
    'src/activities',
    'src/store',
    'src/config',
    'src/validation',
    'src/inference',
    'src/runs',
    'src/runtime',
    'src/training',
    'src/worlds',
  ])('has nothing of %s', (name) => {
    expect(
      modules.filter((module) =>
        module.includes(name.startsWith('src/') ? `${name}/` : `node_modules/${name}/`),
      ),
    ).toEqual([]);
  });

  it('has no module of Node’s but those that Temporal replaces', () => {
    const builtin = modules.filter((module) =>
      builtinModules.some((name) =>
        new RegExp(`external (commonjs |module )?"?(node:)?${name}"?`).test(module),
      ),
    );
    expect(builtin).toEqual([]);
  });

  it('stays within its size', () => {
    const withoutMap = code.slice(0, code.indexOf('//# sourceMappingURL'));
    console.log(
      `workflow bundle: ${withoutMap.length} characters of code, ${code.length} with its source map`,
    );
    expect(withoutMap.length).toBeGreaterThan(100_000);
    expect(withoutMap.length).toBeLessThan(maxCharacters);
  });
});
