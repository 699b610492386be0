import { spawnSync } from 'node:child_process';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { createProgram } from '../../src/cli/program.ts';
import { searchAttributeKeys } from '../../src/workflows/progress.ts';
import { defined, exists, filesBelow, read } from './repository.ts';

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'infra/README.md',
  ...['docs', 'src/worlds'].flatMap(filesBelow).filter((file) => file.endsWith('.md')),
];
/** Made by a run, not kept in the repository. */
const pictures = new Set(['docs/report.png']);

const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group]) => defined(group));
const withoutCode = (text: string): string => text.replace(/```[^]*?```/g, '').replace(/`[^`\n]*`/g, '');
/** A heading's anchor, as GitHub makes it. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
const anchorsOf = (document: string): string[] =>
  matches(read(document).replace(/```[^]*?```/g, ''), /^#+ (.+)$/gm).map(anchor);

describe.each(documents)('%s', (document) => {
  const text = read(document);

  test('links to what is there', () => {
    for (const link of matches(withoutCode(text), /\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const [path = '', fragment] = link.split('#');
      const target = path === '' ? document : normalize(join(dirname(document), path)).replace(/\/$/, '');
      if (pictures.has(target)) continue;
      expect(exists(target), `${link}, that is ${target}`).toBe(true);
      if (fragment !== undefined) expect(anchorsOf(target)).toContain(fragment);
    }
  });

  test('names files that are there', () => {
    for (const path of matches(text, /`((?:src|docs|infra|trainer|test|experiments|bench)\/[^`\s]*)`/g)) {
      if (/[*<{…]/.test(path)) continue;
      expect(exists(path.replace(/\/$/, '')) || ignoredByGit(path), path).toBe(true);
    }
  });

  test('names commands that are there, with options that they have', () => {
    const program = createProgram(
      { env: {}, print: () => undefined, warn: () => undefined, terminal: null },
      () => undefined,
    );
    for (const [, name, rest] of text.matchAll(
      /\bgenenv (run|compare|pause|resume|stop|cancel|retune|fork|rewind|schedule|status|report|verify|up|down|gc|schema|doctor|[a-z]+(?=`))([^`\n#]*)/g,
    )) {
      const group = program.commands.find((candidate) => candidate.name() === name);
      const verb = /^ ([a-z]+)/.exec(defined(rest))?.[1];
      const command =
        name === 'schedule' && verb !== undefined
          ? group?.commands.find((candidate) => candidate.name() === verb)
          : group;
      expect(command, `genenv ${defined(name)} ${verb ?? ''}`).toBeDefined();
      for (const option of matches(defined(rest), /(--[a-z-]+)/g))
        expect(
          command?.options.map(({ long }) => long),
          `genenv ${defined(name)}`,
        ).toContain(option);
    }
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const script of matches(text, /\bnpm (?:run )?((?<=run )[\w:]+|start|test)\b/g))
      expect(Object.keys(scripts)).toContain(script);
  });

  test('names search attributes that are there', () => {
    const names: string[] = Object.values(searchAttributeKeys).map(({ name }) => name);
    for (const name of matches(text, /\b(GenEnv[A-Z]\w+)/g)) expect(names).toContain(name);
  });

  test('is of this project, not of the machine it was written on', () => {
    expect(text).not.toMatch(/(?<![\w.-])\/(?:work|root|home)\//);
  });
});

function ignoredByGit(path: string): boolean {
  return spawnSync('git', ['check-ignore', '--quiet', path], { cwd: repository }).status === 0;
}

test('every variable that a worker reads is documented', () => {
  const names = [
    'src/worker/settings.ts',
    'src/temporal/payload-keys.ts',
    'infra/setup/locations.mjs',
  ].flatMap((file) => matches(read(file), /\b(GENENV_\w+)/g));
  for (const name of new Set(names)) expect(read('docs/operating.md'), name).toContain(`\`${name}\``);
});

test('every decision is in the index', () => {
  const index = read('docs/decisions/README.md');
  for (const file of filesBelow('docs/decisions'))
    if (!file.endsWith('README.md')) expect(index).toContain(`(${file.replace('docs/decisions/', '')})`);
});

test('the map of rooms in CONTRIBUTING.md is the list that lint checks', () => {
  const [, rooms] = /const rooms = \[([^\]]*)\]/.exec(read('eslint.config.js')) ?? [];
  expect(matches(read('CONTRIBUTING.md'), /^\| `([\w-]+)` \|/gm)).toEqual(
    matches(defined(rooms), /'([\w-]+)'/g),
  );
});
