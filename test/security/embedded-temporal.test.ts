/** What a web page, or another user of the machine, finds at the ports of the embedded Temporal server. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository, temporalPath } from '../../infra/setup/locations.mjs';
import { stackPaths } from '../../src/dev-stack/record.ts';
import { TemporalServer } from '../../src/dev-stack/services/temporal-server.ts';
import { TestProcess, until } from '../../test-support/processes.ts';

let home: string;
let temporal: TestProcess;
let server: TemporalServer;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'genenv-temporal-'));
  const paths = stackPaths(home);
  mkdirSync(join(home, 'stack'), { recursive: true });
  server = new TemporalServer(temporalPath(), paths, process.env, { ports: {}, hasUi: false });
  const { command, args, env } = await server.launch();
  temporal = new TestProcess(command, args, {
    env,
    cwd: repository,
    log: join(home, 'log'),
  });
  await until(() => server.answers().catch(() => false), 60_000, 'Temporal');
}, 90_000);

afterAll(async () => {
  await temporal.stop('SIGTERM', 10_000);
  rmSync(home, { recursive: true, force: true });
});

/** Ports on the loopback that a process listens at. */
function listeningPorts(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return [];
      }
    }),
  );
  const rows = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n').slice(1),
  );
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
    return state === '0A' && sockets.has(inode) ? [Number.parseInt(local.split(':')[1]!, 16)] : [];
  });
}

/** The status of a start of a workflow over HTTP, as any web page may send it; undefined if no HTTP is spoken. */
const startOverHttp = (port: number, host: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/api/v1/namespaces/default/workflows/from-a-page',
        headers: { Host: host, Origin: 'https://evil.example', 'Content-Type': 'text/plain' },
        timeout: 5_000,
      },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    sent.on('error', () => resolve(undefined));
    sent.on('timeout', () => sent.destroy());
    sent.end(
      JSON.stringify({ workflowType: { name: 'evaluation' }, taskQueue: { name: 'genenv' }, requestId: 'r' }),
    );
  });

test('a stack that chose the same port at the same moment does not take it for its own server', async () => {
  const theirs = mkdtempSync(join(tmpdir(), 'genenv-temporal-'));
  const ports = { temporal: Number(server.address.split(':')[1]) };
  const theirServer = new TemporalServer(temporalPath(), stackPaths(theirs), {}, { ports, hasUi: false });
  expect(theirServer.address).toBe(server.address);
  await expect(theirServer.answers()).rejects.toThrow(/not found/);
  rmSync(theirs, { recursive: true });
});

test('the one host that its HTTP API answers has a new name at each start', async () => {
  const hostOf = async (): Promise<string> => {
    const launched = new TemporalServer(temporalPath(), stackPaths(home), {}, { ports: {}, hasUi: false });
    return /httpAllowedHosts=\["(.*)"\]/.exec((await launched.launch()).args.join(' '))![1]!;
  };
  const hosts = [await hostOf(), await hostOf()];
  for (const host of hosts) expect(host).toMatch(/^[0-9a-f-]{36}\.invalid$/);
  expect(new Set(hosts).size).toBe(2);
});

test('a web page starts no workflow there, whatever host it asks for, and there is no UI', async () => {
  const ports = listeningPorts(temporal.child.pid!);
  expect(ports.length).toBeGreaterThan(1);
  const answers: (number | undefined)[] = [];
  for (const port of ports)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'evil.example', 'nobody.invalid'])
      answers.push(await startOverHttp(port, host));
  // One of the ports does speak HTTP, and refuses.
  expect(answers).toContain(403);
  expect(answers.filter((status) => status !== undefined && status < 400)).toEqual([]);
  for (const port of ports) {
    const page = await fetch(`http://127.0.0.1:${port}/`).then(
      (answer) => answer.text(),
      () => '',
    );
    expect(page).not.toContain('<html');
  }
  expect(server.ui).toBeNull();
  const connection = await Connection.connect({ address: server.address });
  const { count } = await new Client({ connection }).workflow.count('');
  expect(count).toBe(0);
  await connection.close();
});
