import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../test-support/processes.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from './growing-run.ts';
import { MlflowServer } from './mlflow-server.ts';
import { readBack } from './read-back.ts';
import { expectSteps, send, trackerContract } from './tracker-contract.ts';
import type { TrackerHarness } from './tracker-contract.ts';

let server: MlflowServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'genenv-mlflow-'));
  server = await MlflowServer.start(folder);
}, 180_000);
afterAll(async () => {
  await server.kill();
  await rm(folder, { recursive: true, force: true });
});

const harness: TrackerHarness = {
  tracker: 'mlflow',
  uri: () => server.uri,
  env: () => process.env,
  place: (_home, key) => [server.uri, key],
};

/** The tag by which a run says which step it has. */
async function lastStep(key: string): Promise<string | undefined> {
  const search = async (path: string, body: object): Promise<unknown> => {
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ max_results: 100, ...body }),
    };
    return (await fetch(`${server.uri}/api/2.0/mlflow/${path}/search`, request)).json();
  };
  const { experiments = [] } = (await search('experiments', {})) as {
    experiments?: { experiment_id: string }[];
  };
  const { runs = [] } = (await search('runs', {
    experiment_ids: experiments.map(({ experiment_id }) => experiment_id),
    filter: `tags.\`genenv.key\` = '${key}'`,
  })) as { runs?: { data: { tags: { key: string; value: string }[] } }[] };
  return runs[0]?.data.tags.find((tag) => tag.key === 'genenv.last_step')?.value;
}

describe('MLflow, on a server with SQLite', () => {
  trackerContract(harness);

  test('that is away for a while gets all that was committed meanwhile', async () => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commitTo(1);
    const said: string[] = [];
    const following = send(harness, run, { once: false, pollMs: 200, say: (text) => said.push(text) });
    await until(async () => (await lastStep(await run.key())) === '1', 180_000, 'the first epochs');
    await server.kill();
    // The run goes on: nothing of it waits for the tracker.
    await run.commitTo(4, 2);
    await until(() => said.length > 0, 120_000, 'the failure');
    await run.commit(5);
    await server.start();
    await run.end('finished');
    expect(await following).toMatchObject({ last: 5, caughtUp: true });
    expect(said[0]).toMatch(/It is tried again; the run is not affected\.$/);
    expect(said.at(-1)).toBe('It answers again, and has all epochs so far.');
    expectSteps(await readBack('mlflow', [server.uri, await run.key()]), 5);
  });

  test('in a folder of files is refused, which would keep a step twice', async () => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commit(0);
    await expect(send({ ...harness, uri: () => './mlruns' }, run)).rejects.toThrow(
      /^uri: got '\.\/mlruns'; allowed: an http or https address/,
    );
  });
});
