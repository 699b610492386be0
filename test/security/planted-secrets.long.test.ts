import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeReport } from '../../src/report/write-report.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { withFields } from '../../test-support/experiments.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { OtlpReceiver } from '../../test-support/otlp-receiver.ts';
import { formsOf } from '../../test-support/planted-texts.ts';
import { freePort } from '../../test-support/free-port.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv } from '../cli/genenv-process.ts';

/**
 * Secrets are planted wherever a worker takes them from. Then everything that a run and an evaluation leave is
 * searched for them, and for a text that is no secret, which has to be there.
 */
const secrets = {
  ofEndpoint: 'sk-planted-endpoint-4711',
  ofEndpointFile: 'sk-planted-file-4712',
  ofPolicyServer: 'planted-policy-token-4713',
  ofNobody: 'planted-cloud-secret-4714',
  ofCollector: 'planted-collector-key-4716',
  ofCodecServer: 'planted-codec-token-4717',
  ofOpenAi: 'planted-openai-header-4718',
};
const shown = 'planted-and-shown-4715';

let stack: LiveStack;
/** Refuses every request, and repeats its headers. */
let echo: Server;
let metricsPort: number;
let collector: OtlpReceiver;

beforeAll(async () => {
  echo = createServer((request, response) => {
    response.writeHead(400).end(JSON.stringify({ error: { message: JSON.stringify(request.headers) } }));
  });
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(echo.address() as AddressInfo).port}/v1`;
  metricsPort = await freePort();
  collector = await OtlpReceiver.start();
  stack = await LiveStack.start({
    GENENV_POLICY_TOKEN: secrets.ofPolicyServer,
    GENENV_METRICS_PORT: String(metricsPort),
    PLANTED_API_KEY: secrets.ofEndpoint,
    AWS_SECRET_ACCESS_KEY: secrets.ofNobody,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${secrets.ofCollector}`,
    GENENV_CODEC_TOKEN: secrets.ofCodecServer,
    OPENAI_CUSTOM_HEADERS: `X-Planted: ${secrets.ofOpenAi}`,
    GENENV_ENDPOINTS: JSON.stringify({
      addresses: ['http://127.0.0.1:*'],
      endpoints: {
        variable: { baseUrl, apiKeyEnv: 'PLANTED_API_KEY' },
        file: { baseUrl: baseUrl.replace('127.0.0.1', 'localhost'), apiKeyEnv: 'PLANTED_IN_FILE' },
      },
    }),
  });
  // Outside of what is searched.
  stack.environment.PLANTED_IN_FILE_FILE = `${stack.home}.key`;
  writeFileSync(stack.environment.PLANTED_IN_FILE_FILE, secrets.ofEndpointFile, { mode: 0o600 });
}, 300_000);
afterAll(async () => {
  echo.close();
  await stack[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
}, 60_000);

test('no secret is in what a run and an evaluation leave, or in the command line of a process', async () => {
  const left = new Map<string, string>();
  const { client } = stack;
  await using worker = await stack.startWorker({ fault: ':computeRewards:1:lost' });
  const commandLines = watchCommandLines();
  const run = await stack.startRun('planted', withFields(tinyExperiment(), { name: shown }));
  for (const name of ['variable', 'file']) {
    const evaluation = await client.workflow.start('evaluation', {
      args: [
        {
          name: shown,
          policy: { type: 'served', baseUrl: `endpoint:${name}`, model: 'any' },
          suites: ['bamboogle_closedbook'],
        },
      ],
      workflowId: `planted-${name}`,
      taskQueue: queues.workflows,
    });
    const reason: unknown = await evaluation.result().catch((error: unknown) => error);
    left.set(`the error of the evaluation by ${name}`, textsOf(reason));
  }
  await run.result();
  left.set('the metrics', await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text());
  left.set('the command lines', commandLines.stop());
  await worker.stop();
  left.set('the spans', JSON.stringify(collector.spans));
  const environment = Object.fromEntries(
    Object.entries(stack.environment).map(([name, value]) => [name, value ?? '']),
  );
  for (const args of [['status', 'planted'], ['show', 'planted'], ['verify', 'planted'], ['doctor']]) {
    const { out, err } = await genenv([...args], environment);
    left.set(`genenv ${args[0]}`, out + err);
  }
  await writeReport({ home: stack.home, runId: 'planted' });
  left.set('the database of Temporal', await stack.database.contents());
  for (const [file, content] of filesBelow(stack.home)) left.set(file, content);

  const holds = (text: string): string[] =>
    [...left]
      .filter(([, content]) => formsOf(text).some((form) => content.includes(form)))
      .map(([name]) => name);
  // The search sees what is there, and the server was asked with the secrets.
  const report = join(stack.home, 'runs/planted/report.html');
  expect(holds(shown)).toEqual(expect.arrayContaining(['the database of Temporal', report]));
  expect(holds('planted')).toEqual(expect.arrayContaining(['genenv status', 'genenv verify']));
  expect(left.get('the metrics')).toContain('genenv_');
  expect(holds('planted')).toEqual(expect.arrayContaining(['the spans', join(stack.home, 'worker.log')]));
  expect(holds('authorization')).toEqual(expect.arrayContaining(['the error of the evaluation by variable']));
  for (const secret of Object.values(secrets)) expect(holds(secret), secret).toEqual([]);
}, 600_000);

const textsOf = (error: unknown): string =>
  error instanceof Error ? `${error.message}\n${error.stack}\n${textsOf(error.cause)}` : String(error);

/** What the command lines of all processes have contained at any moment. */
function watchCommandLines(): { stop: () => string } {
  const lines = new Set<string>();
  const look = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      lines.add(readIfThere(`/proc/${pid}/cmdline`));
  };
  const timer = setInterval(look, 100);
  return {
    stop() {
      clearInterval(timer);
      look();
      return [...lines].join('\n');
    },
  };
}

function* filesBelow(folder: string): Generator<[string, string]> {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      yield [path, readIfThere(path)];
    }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
