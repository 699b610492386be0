import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonPath, repository } from '../../infra/setup/locations.mjs';
import { estimateRun } from '../../src/cli/lib/estimates.ts';
import { byteText } from '../../src/cli/lib/text.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { leftovers } from '../../src/dev-stack/leftovers.ts';
import { readStackRecord, stackPaths } from '../../src/dev-stack/record.ts';
import { worldLoader } from '../../src/worlds/registry.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv } from '../cli/genenv-process.ts';

let home: string;
let model: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'genenv-disk-'));
  model = join(home, 'models', 'base');
  mkdirSync(dirname(model));
  await promisify(execFile)(pythonPath(), [join(repository, 'test-support/byte_model.py'), model]);
}, 120_000);
afterAll(() => {
  for (const { pid } of leftovers(home, readStackRecord(stackPaths(home).record)))
    process.kill(pid, 'SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

/** Bytes of all files below a folder. */
const bytesBelow = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name)))
    .reduce((total, file) => total + (file.isFile() ? file.size : 0), 0);

test(
  'what --dry-run says of the disk is what a run of pretrained models then writes',
  { timeout: 300_000 },
  async () => {
    // Coin-flip verdicts: a random model has something to learn from, and every epoch writes new weights.
    const adapter = { r: 192, alpha: 192 };
    const file = tinyExperiment({
      name: 'disk',
      arm: { type: 'random' },
      world: {
        type: 'toolbox',
        tools: 4,
        coinFlipTools: 3,
        symbols: 4,
        maxLength: 6,
        baseLengths: [3, 4],
        heldOutLengths: [1, 2],
        heldOutPerCell: 2,
        baseTasks: 16,
      },
      guards: { flatRewards: null, verdictAgreement: false },
      pools: { train: { mix: { base: 1, history: 0, new: 1 } } },
      environment: {
        model: { type: 'pretrained', path: model, adapter },
        sampling: { maxTokens: 12 },
        promptsPerEpoch: 4,
        variationsPerPrompt: 4,
      },
      agent: {
        model: { type: 'pretrained', path: model, adapter },
        sampling: { maxTokens: 12 },
        rolloutsPerTask: 4,
        training: { stepsPerEpoch: 2, minInformativeGroups: 0, learningRate: 0.001 },
      },
    });
    const path = join(home, 'disk.json');
    writeFileSync(path, JSON.stringify(file));
    const experiment = parseExperiment(file);
    const { disk, isTokenized, longest } = await estimateRun(
      experiment,
      await worldLoader(undefined)(experiment.world),
    );
    expect({ isTokenized, unknown: disk.unknown }).toEqual({ isTokenized: true, unknown: [] });
    // A byte a token: the request of a task is as long as its text.
    expect(longest.agent).toBeLessThan(40);

    const dryRun = await genenv(['run', path, '--dry-run'], { GENENV_HOME: home });
    expect(dryRun.out).toContain(
      `disk        about ${byteText(disk.policies + disk.records)} in the store before`,
    );
    const run = await genenv(['run', path], { GENENV_HOME: home });
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(run.out).not.toContain('no update');
    const ratio = (disk.policies + disk.records) / bytesBelow(join(home, 'store'));
    expect(ratio).toBeGreaterThan(1 / 1.3);
    expect(ratio).toBeLessThan(1.3);
  },
);
