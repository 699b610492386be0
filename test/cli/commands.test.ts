import { generateKeyPairSync } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, matchesGlob, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { homeFolder } from '../../src/cli/context.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { identify } from '../../src/runtime/process-identity.ts';
import { emptyRecord, stackPaths, takeStackLock, writeStackRecord } from '../../src/dev-stack/record.ts';
import { workerSettings } from '../../src/worker/settings.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { makeRun } from '../report/make-run.ts';
import type { MadeRun } from '../report/make-run.ts';
import { genenv } from './genenv-process.ts';

let folder: string;
let home: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'genenv-cli-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

describe('bad input: one message, exit code 2, nothing started and nothing written', () => {
  beforeEach(() => void (home = join(folder, 'untouched')));
  const unknown = withFields(exampleFile, { epoch: 3 });
  const impossible = withFields(exampleFile, { 'agent.training.minInformativeGroups': 999 });
  const refusal = (raw: unknown): string => {
    try {
      parseExperiment(raw);
    } catch (error) {
      return `genenv: ${(error as Error).message}\n`;
    }
    throw new Error('the file is good');
  };
  const gold = ['--policy', 'gold', '--suite', 'bamboogle_closedbook'];
  const good = (): string => file('good.json', JSON.stringify(exampleFile));
  const cases: Record<string, { args: () => string[]; message: () => string }> = {
    'a file that is not there': {
      args: () => ['run', 'nowhere.json'],
      message: () =>
        'genenv: experiment file: got "nowhere.json", but there is no such file; expected the path of an experiment file, such as experiments/laptop.json',
    },
    'a folder': {
      args: () => ['run', folder],
      message: () =>
        `genenv: experiment file: got ${JSON.stringify(folder)}, but it is a folder; expected the path of an experiment file, such as experiments/laptop.json`,
    },
    'no JSON': {
      args: () => ['run', file('torn.json', '{"name": ')],
      message: () =>
        `genenv: experiment file: ${join(folder, 'torn.json')} is not JSON: Unexpected end of JSON input`,
    },
    'an unknown field': {
      args: () => ['run', file('unknown.json', JSON.stringify(unknown))],
      message: () => refusal(unknown),
    },
    'an impossible combination': {
      args: () => ['run', file('combination.json', JSON.stringify(impossible)), '--dry-run'],
      message: () => refusal(impossible),
    },
    'an id that is no folder name': {
      args: () => ['run', good(), '--id', '../up'],
      message: () => 'genenv: Experiment id "../up" cannot be used',
    },
    'a namespace without a server': {
      args: () => ['run', good(), '--namespace', 'x'],
      message: () => 'genenv: --namespace: got "x" without --address or --profile',
    },
    'a profile that is not there': {
      args: () => ['run', good(), '--profile', 'nope'],
      message: () => 'genenv: Temporal profile "nope"',
    },
    'a run that is not there': {
      args: () => ['verify', 'nope'],
      message: () => `genenv: run: got "nope", but ${join(home, 'runs')} has no such run; there are none yet`,
    },
    'an unknown command': {
      args: () => ['statsu'],
      message: () => "error: unknown command 'statsu'\n(Did you mean status?)",
    },
    'a number that is none': {
      args: () => ['gc', '--keep-last', 'two'],
      message: () => 'genenv: --keep-last: got "two"; expected a whole number of 1 or more',
    },
    'a number that is empty': {
      args: () => ['rewind', 'laptop', '--epoch', ''],
      message: () => 'genenv: --epoch: got ""; expected a whole number of 0 or more',
    },
    'a port that there is not': {
      args: () => ['dashboard', '--port', '70000'],
      message: () => 'genenv: --port: got "70000"; expected a whole number from 0 to 65535',
    },
    'an id that no comparison can have': {
      args: () => ['compare', 'experiments/compare-tiny.json', '--id', 'x'.repeat(41)],
      message: () => `genenv: --id: got "${'x'.repeat(41)}"; expected 1 to 40 letters`,
    },
    'an id that no evaluation can have': {
      args: () => ['evaluate', ...gold, '--id', '_x'],
      message: () => 'genenv: --id: got "_x"; expected 1 to 68 letters',
    },
    'an evaluation that is not there': {
      args: () => ['rescore', 'nope'],
      message: () => 'genenv: evaluation: got "nope"; there is none of that id that has ended',
    },
    ...Object.fromEntries(
      Object.entries({
        '--temperature: got "hot"; expected a number': [...gold, '--temperature', 'hot'],
        '--temperature: got ""; expected a number': [...gold, '--temperature', ''],
        '--api: got "chat" without --policy': ['experiments/evaluate-gold.json', '--api', 'chat'],
        '--api-key-env: got "KEY" without --policy': [
          'experiments/evaluate-gold.json',
          '--api-key-env',
          'KEY',
        ],
        '--api-key-env: got "KEY" without --base-url': [...gold, '--api-key-env', 'KEY'],
        '--api: got "chat" without a model': [...gold, '--api', 'chat'],
        '--search-key-env: got "KEY" without --search-url': [...gold, '--search-key-env', 'KEY'],
        '--judge-key-env: got "KEY" without --judge-url': [...gold, '--judge-key-env', 'KEY'],
      }).map(([message, args]) => [
        message,
        { args: () => ['evaluate', ...args], message: () => `genenv: ${message}` },
      ]),
    ),
  };
  test.each(Object.entries(cases))('%s', async (_, { args, message }) => {
    const { code, out, err } = await genenv(args(), { GENENV_HOME: home });
    expect(err).toContain(message());
    expect(err).not.toMatch(/\n\s+at /);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(existsSync(home)).toBe(false);
  });
});

test('--help lists the commands, examples and exit codes; each command has examples of its own', async () => {
  const { code, out } = await genenv(['--help'], {});
  expect(code).toBe(0);
  const commands = ['run', 'status', 'report', 'verify', 'up', 'down', 'gc', 'schema', 'doctor'];
  const helps = await Promise.all(commands.map((command) => genenv([command, '--help'], {})));
  for (const [index, command] of commands.entries()) {
    expect(out).toContain(`\n  ${command}`);
    expect(helps[index]?.out).toMatch(/Examples?:\n {2}genenv /);
  }
  expect(out).toContain('Exit codes:\n  0    done');
  expect(out).toContain('GENENV_HOME');
});

test('the exit codes of --help are those of README.md', async () => {
  const { out } = await genenv(['--help'], {});
  expect(out).toMatch(/^ {2}0 +done; .*maxTokens.*quota/m);
  expect(out).toMatch(/^ {2}3 +.*stopped, cancelled or terminated before its last epoch/m);
  const readme = readFileSync(join(repository, 'README.md'), 'utf8').replaceAll('\n', ' ');
  expect(readme).toMatch(
    /Exit codes: 0 done, or ended at .*`maxTokens`.*quota.*3 stopped, cancelled or terminated/,
  );
});

test('the example of sweep can be entered as it is', async () => {
  const { out } = await genenv(['sweep', '--help'], {});
  const [, pattern, differences] = /genenv sweep (\S+) (.*) --out/.exec(out)!;
  const files = readdirSync(join(repository, dirname(pattern!)))
    .map((name) => join(repository, dirname(pattern!), name))
    .filter((path) => matchesGlob(path, join(repository, pattern!)));
  expect(files.length).toBeGreaterThan(1);
  expect(await genenv(['sweep', ...files, ...differences!.split(' ')], {})).toMatchObject({
    code: 0,
    err: '',
  });
});

test('a home folder that is empty text is none', () => {
  const usual = resolve('.genenv');
  expect(homeFolder({ GENENV_HOME: '' })).toBe(usual);
  expect(workerSettings({ GENENV_HOME: '' }, undefined).home).toBe(usual);
});

test('schema prints the JSON Schema of the experiment file', async () => {
  const schema = JSON.parse((await genenv(['schema'], {})).out) as { properties: object };
  expect(Object.keys(schema.properties)).toEqual(
    expect.arrayContaining(['name', 'seed', 'epochs', 'arm', 'world']),
  );
});

test('run --dry-run prints the resolved file and what it would take, and starts nothing', async () => {
  home = join(folder, 'dry');
  const { code, out } = await genenv(
    ['run', file('dry.json', JSON.stringify(withFields(exampleFile, { epochs: 10 }))), '--dry-run'],
    { GENENV_HOME: home },
  );
  expect(code).toBe(0);
  const resolved = JSON.parse(out.slice(0, out.indexOf('\n}\n') + 2)) as {
    epochs: number;
    evaluation: object;
  };
  expect(resolved.epochs).toBe(10);
  expect(resolved.evaluation).toHaveProperty('every');
  expect(out).toMatch(/rollouts {4}[\d,]+ \([\d,]+ an epoch\)/);
  for (const what of ['tasks', 'tokens', 'activities', 'events', 'disk'])
    expect(out).toMatch(new RegExp(`^${what} `, 'm'));
  expect(out).toContain('Nothing was started or written.');
  expect(existsSync(home)).toBe(false);
});

describe('a home with a finished run', () => {
  let made: MadeRun;
  let asStarted: string;
  beforeAll(async () => {
    home = join(folder, 'home');
    made = await makeRun({ home, runId: 'done', epochs: 6 });
    await makeRun({ home, runId: 'half', epochs: 3, planned: 6 });
    asStarted = file('as-started.json', readFileSync(made.run.experimentFile, 'utf8'));
  });
  beforeEach(() => void (home = made.home));

  test('run says that it is finished, where the report is, and how to start a fresh one', async () => {
    const { code, out } = await genenv(['run', asStarted, '--id', 'done'], { GENENV_HOME: home });
    expect(out).toBe(
      `done is finished: 6 epochs. Report: ${made.run.reportFile}\nTo start a fresh one, give it another id: npx genenv run ${asStarted} --id done-2\n`,
    );
    expect(code).toBe(0);
    expect(existsSync(made.run.reportFile)).toBe(true);
    expect(existsSync(stackPaths(home).folder)).toBe(false);
  });

  test('run refuses another file under its id, and names what differs', async () => {
    const changedFile = file('other.json', JSON.stringify({ ...made.experiment, seed: 8, epochs: 9 }));
    const { code, err } = await genenv(['run', changedFile, '--id', 'done'], { GENENV_HOME: home });
    expect(err).toContain(
      'genenv: experiment: the id "done" belongs to another experiment file (epochs: was 6, is 9; seed: was 7, is 8); start this one under another id',
    );
    expect(code).toBe(2);
  });

  test('run in a home whose stack another run uses says so, and exits 4', async () => {
    const paths = stackPaths(home);
    const own = identify(process.pid) ?? { pid: 0, started: '' };
    const lock = takeStackLock(paths.lock);
    writeStackRecord(paths.record, { ...emptyRecord(), owner: { ...own, command: 'run' } });
    try {
      const { code, err } = await genenv(['run', asStarted, '--id', 'half'], {
        GENENV_HOME: home,
        GENENV_PYTHON: process.execPath,
        GENENV_TEMPORAL: process.execPath,
      });
      expect(err).toBe(
        `genenv: \`genenv run\` (process ${process.pid}) runs the stack of ${home}; wait until it has ended, or set GENENV_HOME to another folder. A stack that \`npx genenv up\` started serves several runs at a time: each by \`npx genenv run FILE\`, or by \`temporal workflow start --type experiment --task-queue genenv --workflow-id ID --input-file FILE\`\n`,
      );
      expect(code).toBe(4);
    } finally {
      lock?.release();
      rmSync(paths.folder, { recursive: true });
    }
  });

  test('status lists the runs by their files, as a table and as JSON', async () => {
    const { out } = await genenv(['status'], { GENENV_HOME: home });
    expect(out).toMatch(/^done +finished +6\/6 /m);
    expect(out).toMatch(/^half +interrupted +3\/6 /m);
    const status = JSON.parse(
      (await genenv(['status', 'half', '--json'], { GENENV_HOME: home })).out,
    ) as object;
    expect(status).toMatchObject({
      id: 'half',
      state: 'interrupted',
      epoch: 3,
      epochs: 6,
      arm: 'genenv-tuned',
      progress: null,
    });
    const epochs = await genenv(['status', 'half', '--epochs', '--json'], { GENENV_HOME: home });
    expect((JSON.parse(epochs.out) as object[]).at(-1)).toMatchObject({
      epoch: 3,
      metrics: { 'env/success_rate': expect.any(Number) as number },
      seconds: { epoch: expect.any(Number) as number },
    });
    const watched = await genenv(['status', 'half', '--epochs', '--watch'], { GENENV_HOME: home });
    expect(watched).toMatchObject({ code: 2, out: '' });
    const { code, err } = await genenv(['status', 'nope'], { GENENV_HOME: home });
    expect(err).toContain('has no such run; there are: done, half');
    expect(code).toBe(2);
  });

  test('report writes the report and prints its path', async () => {
    const { out } = await genenv(['report', 'half'], { GENENV_HOME: home });
    expect(out).toBe(`${join(home, 'runs/half/report.html')}\n`);
    expect(readFileSync(out.trim(), 'utf8')).toContain('<html');
  });

  test('gc --dry-run says what would go and removes nothing', async () => {
    const { code, out } = await genenv(['gc', '--dry-run'], { GENENV_HOME: home });
    expect(out).toMatch(/^Would free .* of 2 runs in /m);
    expect(code).toBe(0);
  });

  test('verify passes a whole run, and names the first bad file of one that is not', async () => {
    const intact = await genenv(['verify', 'done'], { GENENV_HOME: home });
    expect(intact.out).toMatch(/^done: whole\. 7 ledger lines, \d+ objects/);
    expect(intact.code).toBe(0);
    appendFileSync(join(home, 'runs/half/ledger.jsonl'), 'torn\n');
    const bad = await genenv(['verify', 'half'], { GENENV_HOME: home });
    expect(bad.err).toContain(`half: ${join(home, 'runs/half/ledger.jsonl')}`);
    expect(bad.code).toBe(1);
  });

  test('verify signs a run, and checks a signature that was kept elsewhere', async () => {
    const verify = (...args: string[]) => genenv(['verify', 'done', ...args], { GENENV_HOME: home });
    const keyPair = (name: string) => {
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const text = publicKey.export({ type: 'spki', format: 'pem' }).toString();
      const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return { open: file(`${name}.public`, text), secret: file(`${name}.pem`, secret) };
    };
    const [own, another] = [keyPair('own'), keyPair('another')];
    const signed = await verify('--sign', own.secret);
    expect(signed).toMatchObject({ code: 0, err: '' });
    const signature = file('signature', signed.out);
    expect(await verify('--signature', signature, '--public-key', own.open)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^done: whole\.[^]*\nSigned are the experiment and the ledger/) as string,
    });
    expect(await verify('--signature', signature, '--public-key', another.open)).toMatchObject({
      code: 1,
      err: expect.stringContaining('not of this key') as string,
    });
    for (const half of [
      ['--signature', signature],
      ['--public-key', own.open],
    ])
      expect(await verify(...half)).toMatchObject({
        code: 2,
        err: 'genenv: --signature, --public-key: got one of them; give both\n',
      });
    const ledger = join(home, 'runs/done/ledger.jsonl');
    const lines = readFileSync(ledger, 'utf8');
    writeFileSync(ledger, lines.split('\n').slice(0, 3).join('\n') + '\n');
    const cut = await verify('--signature', signature, '--public-key', own.open);
    appendFileSync(ledger, 'torn\n');
    const torn = await verify('--sign', own.secret);
    writeFileSync(ledger, lines);
    expect([cut.code, cut.err]).toEqual([1, expect.stringContaining('first 7 lines')]);
    // What is not whole is not signed.
    expect([torn.code, torn.out]).toEqual([1, '']);
  });
});

describe('doctor', () => {
  test('says what is there and what to do about what is not', async () => {
    home = join(folder, 'doctor');
    const { code, out } = await genenv(['doctor'], {
      GENENV_HOME: home,
      GENENV_PYTHON: '/nowhere/python',
      GENENV_TEMPORAL: '/nowhere/temporal',
    });
    expect(out).toMatch(/^ok +Node +24\./m);
    expect(out).toMatch(/^ok +Home folder /m);
    expect(out).toMatch(/^missing +Python environment +\/nowhere\/python is not there/m);
    expect(out).toContain('Temporal executable: run `node infra/setup/setup.mjs`.');
    expect(code).toBe(1);
    expect(existsSync(home)).toBe(false);
  });
});
