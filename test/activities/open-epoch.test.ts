import { appendFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { branchNames } from '../../src/runs/cut-ledger.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import type { FolderRef } from '../../src/store/references.ts';
import type { OpenInput } from '../../src/types/activity-inputs.ts';
import type { CommittedEpoch, OpenedEpoch } from '../../src/types/activity-types.ts';
import { begin, plainEpoch } from '../../test-support/plain-epochs.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const runId = 'some-run';
const folderOf = ({ dependencies }: SomeRun) => dependencies.runFolder(runId);
const ledgerOf = (run: SomeRun): Promise<string> => readFile(folderOf(run).ledgerFile, 'utf8');
const openInput = (id: string, lastCommittedEpoch: number | null = null, thorough = true): OpenInput => ({
  id,
  // eslint-disable-next-line id-denylist -- a field on the wire
  known: lastCommittedEpoch,
  thorough,
});
const open = (
  run: SomeRun,
  ...options: [lastCommittedEpoch?: number | null, thorough?: boolean]
): Promise<OpenedEpoch> => run.activities.openEpoch(openInput(runId, ...options));
const events = async (run: SomeRun, type: string) =>
  (await folderOf(run).events()).filter((event) => event.type === type);
const flip = async (path: string, at: number): Promise<void> => {
  const data = await readFile(path);
  data[at] = data[at]! ^ 1;
  await writeFile(path, data);
};

/** Goes on from where the run stands, by its files, as the workflow does. */
async function goOn(run: SomeRun, epochs: number): Promise<CommittedEpoch> {
  for (let lastCommittedEpoch: number | null = null; ;) {
    const { last, ...plan } = await open(run, lastCommittedEpoch);
    if (last?.epoch === epochs) return last;
    const from = last ?? (await begin(run.activities, runId, smallFile)).prepared;
    lastCommittedEpoch = (await plainEpoch(run.activities, { ...run.plan, ...plan }, from)).epoch;
  }
}

describe('openEpoch', () => {
  it('says where a run stands: at its start, and after each epoch', async () => {
    const run = await someRun();
    expect((await open(run)).last).toEqual(run.prepared);
    const second = await run.epochs(2);
    expect(await open(run)).toEqual({ run: run.plan.run, settings: run.plan.settings, last: second });
  });

  it('brings a caller forward that knows of fewer epochs, and notes it', async () => {
    const run = await someRun();
    const second = await run.epochs(2);
    expect((await open(run, 1, false)).last).toEqual(second);
    expect(await events(run, 'moved')).toMatchObject([{ from: 1, epoch: 2 }]);
  });

  it.each<[string, (run: SomeRun, ledger: string) => Promise<void>, kept: number]>([
    ['a torn last line', (run, ledger) => truncate(folderOf(run).ledgerFile, ledger.length - 40), 2],
    [
      'a line in the middle that is no JSON',
      (run, ledger) => flip(folderOf(run).ledgerFile, ledger.indexOf('"epoch":1')),
      1,
    ],
    [
      'a middle line whose value was altered',
      (run, ledger) =>
        writeFile(
          folderOf(run).ledgerFile,
          ledger.replace(/"num_tokens":(\d)/, (_, digit: string) => `"num_tokens":${digit === '1' ? 2 : 1}`),
        ),
      0,
    ],
    [
      'a last line whose value was altered',
      (run, ledger) =>
        writeFile(
          folderOf(run).ledgerFile,
          ledger.replace(
            /"num_tokens":(\d)(?=[^\n]*\n$)/,
            (_, digit: string) => `"num_tokens":${digit === '1' ? 2 : 1}`,
          ),
        ),
      2,
    ],
    ['text glued to its end', (run) => appendFile(folderOf(run).ledgerFile, '{"epoch":3}\n'), 3],
    [
      'a note of the ledger’s head that is torn',
      (run) => writeFile(`${folderOf(run).path}/ledger.head.json`, '{"epoch":'),
      2,
    ],
    [
      'a ledger that lost its last line',
      (run, ledger) => writeFile(folderOf(run).ledgerFile, ledger.split('\n').slice(0, 2).join('\n') + '\n'),
      2,
    ],
  ])('%s is noticed, and the run ends as the undisturbed one', async (_, damage, kept) => {
    const run = await someRun();
    await run.epochs(2);
    const undisturbed = await ledgerOf(run);
    await damage(run, undisturbed);
    const { last } = await open(run);
    expect(last?.epoch ?? -1).toBe(kept - 1);
    expect(
      undisturbed.startsWith(
        await ledgerOf(run).then((text) =>
          text.slice(0, undisturbed.split('\n').slice(0, kept).join('\n').length),
        ),
      ),
    ).toBe(true);
    await goOn(run, 2);
    expect(await ledgerOf(run)).toBe(undisturbed);
    expect((await verifyRun(run.dependencies.store, folderOf(run))).problems).toEqual([]);
  });

  it.each([
    ['all of its lines', () => 30],
    ['its last lines', (ledger: string) => ledger.indexOf('\n') + 30],
  ])(
    'a ledger that loses %s while an epoch is under way takes no line out of order, and the run ends as the undisturbed one',
    async (_, left) => {
      const run = await someRun();
      const second = await run.epochs(2);
      await plainEpoch(run.activities, run.plan, second);
      const undisturbed = await ledgerOf(run);
      await writeFile(folderOf(run).ledgerFile, undisturbed.slice(0, left(undisturbed)));
      await writeFile(
        `${folderOf(run).path}/ledger.head.json`,
        JSON.stringify({ epoch: 2, sha256: second.line }),
      );
      await expect(plainEpoch(run.activities, run.plan, second)).rejects.toMatchObject({
        name: 'InvalidArtifact',
      });
      await goOn(run, 3);
      expect(await ledgerOf(run)).toBe(undisturbed);
    },
  );

  it('keeps a whole copy of a ledger that it cuts', async () => {
    const run = await someRun();
    await run.epochs(2);
    const damaged = `${await ledgerOf(run)}no line\n`;
    await writeFile(folderOf(run).ledgerFile, damaged);
    await open(run);
    const [name] = await branchNames(folderOf(run).branchesFolder);
    expect(await readFile(join(folderOf(run).branchesFolder, name!, 'ledger.jsonl'), 'utf8')).toBe(damaged);
    expect(await events(run, 'damaged')).toMatchObject([
      { file: folderOf(run).ledgerFile, kept: join(folderOf(run).branchesFolder, name!) },
    ]);
  });

  it.each<[string, (committed: CommittedEpoch) => FolderRef]>([
    ['agent', ({ state }) => state.agent.checkpoint!],
    ['simulator', ({ state }) => state.environment.checkpoint!],
    ['trainer state', ({ state }) => state.agent.trainer_state!],
    ['initial agent', ({ state }) => state.initial_agent.checkpoint!],
  ])('a damaged %s is noticed by its hash, named, and made again', async (_, ref) => {
    const run = await someRun();
    const committed = await run.epochs(2);
    const undisturbed = await ledgerOf(run);
    const folder = run.dependencies.store.path(ref(committed));
    const [file] = await readdir(folder);
    await flip(join(folder, file!), 0);
    const { last } = await open(run);
    expect(last?.epoch ?? -1).toBeLessThan(2);
    expect((await events(run, 'damaged')).map(({ file }) => file)).toContain(join(folder, file!));
    await goOn(run, 2);
    expect(await ledgerOf(run)).toBe(undisturbed);
    await run.dependencies.store.check(ref(committed));
  });

  it('prepares again what was lost whole, but for the ledger', async () => {
    const run = await someRun();
    await run.epochs(1);
    const undisturbed = await ledgerOf(run);
    await rm(join(run.dependencies.store.root, 'objects'), { recursive: true });
    expect((await open(run)).last).toBeNull();
    await run.dependencies.store.putJson(
      await folderOf(run)
        .readExperiment()
        .then((file) => file?.experiment),
    );
    await goOn(run, 1);
    expect(await ledgerOf(run)).toBe(undisturbed);
    expect((await stat(folderOf(run).ledgerFile)).size).toBe(undisturbed.length);
  });
});

describe('retuneExperiment', () => {
  it('is in effect from its epoch on, in the ledger, and after the run is taken up anew', async () => {
    const run = await someRun();
    const first = await run.epochs(1);
    expect(
      await run.activities.retuneExperiment({
        id: runId,
        set: { 'difficulty.alpha': 0.35, epochs: 4 },
        fromEpoch: 2,
      }),
    ).toMatchObject({ fromEpoch: 2, settings: { 'difficulty.alpha': 0.35, epochs: 4 } });
    const { last, ...opened } = await open(run);
    expect(last).toEqual(first);
    expect(opened.settings.epochs).toBe(4);
    await plainEpoch(run.activities, { ...run.plan, ...opened }, last!);
    const lines = await (await folderOf(run).open<LedgerEntry>())!.ledger.read();
    expect(lines.map(({ inputs }) => inputs.settings['difficulty.alpha'])).toEqual([0.5, 0.5, 0.35]);
    expect(await run.dependencies.store.json(lines[2]!.inputs.experiment)).toMatchObject({
      difficulty: { alpha: 0.35 },
    });
    expect((await verifyRun(run.dependencies.store, folderOf(run))).problems).toEqual([]);
  });

  it.each<[Record<string, unknown>, string]>([
    [{}, 'retune: got no field; allowed: epochs, difficulty.alpha'],
    [{ 'difficulty.alpha': 1.5 }, 'difficulty.alpha: got 1.5; expected a number from 0 to 1'],
    [{ 'dificulty.alpha': 0.4 }, 'dificulty.alpha: cannot be retuned; did you mean difficulty.alpha?'],
    [{ seed: 3 }, 'seed: cannot be retuned; allowed: epochs'],
    [{ 'filter.kMin': 0.2 }, 'filter.kMin: there is no field "kMin"'],
    [{ epochs: 0 }, 'epochs: got 0'],
  ])('refuses %j with a reason, and changes nothing', async (set, message) => {
    const run = await someRun();
    await expect(run.activities.retuneExperiment({ id: runId, set, fromEpoch: 1 })).rejects.toMatchObject({
      name: 'InvalidConfig',
      message: expect.stringContaining(message) as string,
    });
    expect(await folderOf(run).readRetunes()).toEqual([]);
  });

  it('that a resumed run gets while it is opened leaves the settings of the epoch that is opened', async () => {
    const run = await someRun();
    await run.epochs(1);
    const { last, ...opened } = await open(run);
    const set = { 'difficulty.alpha': 0.35 };
    // A workflow that has not been told the last epoch asks for epoch 1 once it has begun to open the next.
    expect(await run.activities.retuneExperiment({ id: runId, set, fromEpoch: 1 })).toMatchObject({
      fromEpoch: 3,
    });
    const second = await plainEpoch(run.activities, { ...run.plan, ...opened }, last!);
    expect(second.epoch).toBe(2);
    const third = await open(run);
    expect(await run.dependencies.store.json(third.run.experiment)).toMatchObject({
      difficulty: { alpha: 0.35 },
    });
  });

  it.each([
    [0, 3],
    [3, 3],
    [4, 4],
  ])('after epoch 2, asked for epoch %i, is in effect from epoch %i on', async (fromEpoch, expected) => {
    const run = await someRun();
    await run.epochs(2);
    const set = { 'difficulty.alpha': 0.35 };
    expect(await run.activities.retuneExperiment({ id: runId, set, fromEpoch })).toMatchObject({
      fromEpoch: expected,
    });
  });

  it('merges what is asked for the same epoch, the later winning', async () => {
    const run = await someRun();
    await run.activities.retuneExperiment({
      id: runId,
      set: { 'difficulty.alpha': 0.35, 'difficulty.beta': 4 },
      fromEpoch: 1,
    });
    await run.activities.retuneExperiment({ id: runId, set: { 'difficulty.alpha': 0.4 }, fromEpoch: 1 });
    expect(await folderOf(run).readRetunes()).toMatchObject([
      { fromEpoch: 1, set: { 'difficulty.alpha': 0.4, 'difficulty.beta': 4 } },
    ]);
  });
});

describe('a fork', () => {
  const forkFile = (changes: Record<string, unknown>, startFrom: object = { run: runId, epoch: 1 }) => ({
    ...smallFile,
    ...changes,
    startFrom,
  });
  const asFork = (run: SomeRun, file: object, name = 'fork') =>
    run.activities.parseExperiment({ id: name, file });

  it('starts from the epoch of its parent, shares its objects, and its first line chains to the parent’s', async () => {
    const run = await someRun();
    const first = await run.epochs(1);
    await run.epochs(2);
    const plan = await asFork(run, forkFile({ epochs: 3, difficulty: { alpha: 0.4 } }));
    const fork = run.dependencies.runFolder('fork');
    // A rewind to its start that was killed: what is run from here on must not be cut by its completion.
    await fork.appendEvent({ type: 'rewinding', epoch: 1, set: {} });
    const { last, ...opened } = await run.activities.openEpoch(openInput('fork'));
    expect(last).toEqual(first);
    expect((await fork.events()).at(-1)).toMatchObject({ type: 'resumed', epoch: 1 });
    await plainEpoch(run.activities, { ...plan, ...opened }, last!);
    const { ledger } = (await fork.open<LedgerEntry>())!;
    const [line] = await ledger.read();
    expect(line).toMatchObject({
      epoch: 2,
      previous: first.line,
      inputs: { settings: { 'difficulty.alpha': 0.4 } },
    });
    expect(line!.outputs.state.initial_agent).toEqual(first.state.initial_agent);
    expect((await verifyRun(run.dependencies.store, fork)).problems).toEqual([]);
  });

  it('equals its parent where nothing was changed', async () => {
    const run = await someRun();
    await run.epochs(2);
    const plan = await asFork(run, forkFile({}));
    const opened = await run.activities.openEpoch(openInput('fork'));
    const forked = await plainEpoch(run.activities, { ...plan, ...opened }, opened.last!);
    const second = await run.epochs(2, run.prepared);
    expect(forked.metrics['env/reward']).toBe(second.metrics['env/reward']);
    expect(forked.state.agent.checkpoint).toEqual(second.state.agent.checkpoint);
  });

  it.each<[string, object, string]>([
    [
      'of a run that is not there',
      forkFile({}, { run: 'nobody', epoch: 1 }),
      'startFrom.run: got "nobody"; there is no such run',
    ],
    [
      'of an epoch that is not there',
      forkFile({}, { run: runId, epoch: 7 }),
      'startFrom.epoch: got 7; some-run has epochs 0 to 1',
    ],
    [
      'with another world',
      forkFile({ world: { ...(smallFile.world as object), tools: 3 } }),
      'world.tools: was 2, is 3',
    ],
    [
      'that is at its end at once',
      forkFile({ epochs: 1 }),
      'epochs: got 1; expected more than startFrom.epoch (1)',
    ],
  ])('%s is refused, and writes nothing', async (_, file, message) => {
    const run = await someRun();
    await run.epochs(1);
    await expect(asFork(run, file)).rejects.toMatchObject({
      name: 'InvalidConfig',
      message: expect.stringContaining(message) as string,
    });
    expect(await run.dependencies.runFolder('fork').readExperiment()).toBeUndefined();
  });

  it('is that of its own file, where an earlier start under the id ended before it had written its file', async () => {
    const run = await someRun();
    await run.epochs(1);
    await run.epochs(2);
    await asFork(run, forkFile({}));
    const folder = run.dependencies.runFolder('fork');
    await rm(folder.experimentFile);
    await asFork(run, forkFile({}, { run: runId, epoch: 0 }));
    expect(await folder.readFork()).toMatchObject({ epoch: 0 });
    await rm(folder.experimentFile);
    await asFork(run, { ...smallFile });
    expect(await folder.readFork()).toBeUndefined();
  });

  it('of itself is refused', async () => {
    const run = await someRun();
    await expect(asFork(run, forkFile({}, { run: 'fork', epoch: 1 }))).rejects.toMatchObject({
      message: expect.stringContaining('genenv rewind') as string,
    });
  });
});
