import { dirname, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { repository, TEMPORAL_VERSION } from '../../infra/setup/locations.mjs';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { randomStream } from '../../src/numerics/random.ts';
import type { World } from '../../src/worlds/world.ts';
import { defined, read } from './repository.ts';

const readme = read('README.md');

/** The code block below `<!-- <label>: <file> -->`. */
function block(label: string): { file: string; code: string } {
  const [, file, code] = defined(
    new RegExp(`<!-- ${label}: (\\S+) -->\\n\`\`\`ts\\n([^]*?)\`\`\``).exec(readme),
  );
  return { file: defined(file), code: defined(code) };
}

async function createReverse(maxLength: number): Promise<World> {
  // Its imports are of types only: what is left stands alone.
  const source = ts.transpileModule(block('world').code, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  }).outputText;
  const module = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    createReverse: (settings: { maxLength: number }) => World;
  };
  return module.createReverse({ maxLength });
}

/** Type errors of some files, and what they import, with these texts. */
function typeErrors(texts: ReadonlyMap<string, string>): { file: string; message: string }[] {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(repository, 'tsconfig.json'), (path) => ts.sys.readFile(path)).config,
    ts.sys,
    repository,
  );
  delete options.tsBuildInfoFile;
  options.incremental = false;
  const host = ts.createCompilerHost(options);
  const absolute = new Map([...texts].map(([file, text]) => [join(repository, file), text]));
  const folders = new Set([...absolute.keys()].map(dirname));
  host.readFile = (path) => absolute.get(path) ?? ts.sys.readFile(path);
  host.fileExists = (path) => absolute.has(path) || ts.sys.fileExists(path);
  host.directoryExists = (path) => folders.has(path) || ts.sys.directoryExists(path);
  const program = ts.createProgram([...absolute.keys()], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => ({
    file: (file?.fileName ?? '').replace(repository, ''),
    message: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }));
}

describe('the world of the README', () => {
  test('is about thirty lines', () => {
    expect(block('world').code.trim().split('\n').length).toBeLessThan(45);
  });

  test('type-checks where it says it belongs', { timeout: 120_000 }, () => {
    const world = block('world');
    const settings = block('settings');
    const list = block('list');
    const registry = block('case');
    const errors = typeErrors(
      new Map([
        [world.file, world.code],
        [settings.file, settings.code],
        [
          list.file,
          `import { reverseSettings } from './reverse/settings.ts';\n${read(list.file).replace(/(discriminatedUnion\('type', \[)/, `$1${list.code}`)}`,
        ],
        [
          registry.file,
          `import { createReverse } from './reverse/reverse.ts';\n${read(registry.file).replace(/(switch \(settings\.type\) \{\n)/, `$1${registry.code}`)}`,
        ],
      ]),
    );
    expect(errors).toEqual([]);
  });

  test('does what it says', async () => {
    const world = await createReverse(12);
    const random = randomStream(1);
    expect(world.score('abcd', 'dcba')).toEqual({ reward: 1, wellFormed: true });
    expect(world.score('abcd', 'abcd')).toEqual({ reward: 0, wellFormed: true });
    expect(world.parseTask('abc')).toEqual({ valid: true, spec: 'abc' });
    expect(world.parseTask('a'.repeat(13))).toEqual({ valid: false, reason: 'no_word' });
    for (const spec of [...world.baseTasks(random), ...world.heldOutTasks(random)]) {
      expect(world.parseTask(spec)).toEqual({ valid: true, spec });
      expect(world.score(spec, world.referenceAnswer(spec)).reward).toBe(1);
      expect(world.randomAnswer(spec, random)).toHaveLength(spec.length);
    }
  });

  test('writes only characters of its vocabulary', async () => {
    const world = await createReverse(12);
    const random = randomStream(2);
    const [base = ''] = world.baseTasks(random);
    const texts = [
      world.environmentPrompt(emptyHistory(), base),
      world.environmentPrompt({ ...emptyHistory(), success: 1 }, base),
      world.agentPrompt(base),
    ];
    for (const policy of ['agent', 'environment'] as const)
      for (const { prompt, completion } of world.warmUpCorpus(policy, 200, random))
        texts.push(prompt, completion);
    for (const character of texts.join('')) expect(world.vocabulary).toContain(character);
  });
});

/** JSON with comments, as the README shows it. */
const fromJsonc = (text: string): Record<string, unknown> =>
  JSON.parse(text.replace(/\s\/\/.*$/gm, '')) as Record<string, unknown>;
const jsonc = [...readme.matchAll(/```jsonc\n([^]*?)```/g)].map(([, text]) => defined(text));

test('the experiment file of the README is one', () => {
  expect(parseExperiment(fromJsonc(defined(jsonc[0])))).toMatchObject({
    name: 'my-experiment',
    environment: { variationsPerPrompt: 4 },
    agent: { rolloutsPerTask: 8 },
  });
});

test('the settings for vLLM and a GPU fit infra/vllm.json', () => {
  const { serving, trainer } = parseExperiment(JSON.parse(read('infra/vllm.json')));
  const shown = fromJsonc(`{${defined(jsonc[1])}}`);
  expect(serving).toMatchObject(shown.serving as object);
  expect(trainer).toMatchObject(shown.trainer as object);
});

test('the Temporal CLI is where the README looks for it', () => {
  expect(readme).toContain(`export PATH=~/.cache/genenv/temporal-${TEMPORAL_VERSION}:$PATH`);
});
