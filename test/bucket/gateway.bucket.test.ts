import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { shareHome } from '../../src/runs/connect-store.ts';
import { requireOneWinner } from '../../src/store/bucket-probe.ts';
import { versityGatewayPath, VersityGateway } from '../../test-support/versity-gateway.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { twoHostsContract } from '../store/two-hosts.ts';

const isMissing = versityGatewayPath() === null;
if (isMissing) console.warn('skipped: the engine versitygw is missing (npm run engines -- versitygw)');

describe.skipIf(isMissing)('a real S3 server', () => {
  twoHostsContract('two hosts that share its bucket', async () => {
    const gateway = await VersityGateway.start(await temporaryFolder());
    const homes: [string, string] = [await temporaryFolder(), await temporaryFolder()];
    for (const home of homes)
      shareHome(gateway.bucket('team'), { store: join(home, 'store'), runs: join(home, 'runs') });
    return { homes, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
  });

  test('of 32 writers one wins, round after round', async () => {
    await using gateway = await VersityGateway.start(await temporaryFolder());
    for (let round = 0; round < 10; round += 1) await requireOneWinner(gateway.bucket());
    expect(await gateway.bucket().list('')).toEqual([]);
  });

  test('what was written is there after the server was killed', async () => {
    await using gateway = await VersityGateway.start(await temporaryFolder());
    expect(await gateway.bucket().create('claim', Buffer.from('mine'))).toBe(true);
    await gateway.kill();
    await gateway.restart();
    expect(await gateway.bucket().create('claim', Buffer.from('of another'))).toBe(false);
  });
});
