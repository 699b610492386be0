import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prometheusTool, repository } from '../../infra/setup/locations.mjs';
import { LiveStack } from '../../test-support/live-stack.ts';
import { freePort } from '../../test-support/free-port.ts';
import { TestProcess, until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { defined, filesBelow, read } from '../infra/repository.ts';

/** Every query of dashboards and alerts, on a real Prometheus that scrapes the worker of a real run. */
const [prometheusPath, promtoolPath] = [prometheusTool('prometheus'), prometheusTool('promtool')];
if (prometheusPath === null || promtoolPath === null)
  throw new Error('there is no Prometheus: `npm run engines -- prometheus` installs one');

const folder = join(repository, 'infra', 'prometheus');
const dashboards = filesBelow('infra/grafana').filter((file) => file.endsWith('.json'));

interface Dashboard {
  templating: { list: { name: string; query: string | { query: string } }[] };
  panels: { title: string; targets: { expr: string }[] }[];
}

/** The queries of a dashboard, its variables set to everything. */
function queriesOf(file: string): [title: string, query: string][] {
  const { panels, templating } = JSON.parse(read(file)) as Dashboard;
  const variables = templating.list.map(({ name }) => name).filter((name) => name !== 'datasource');
  const withValues = (query: string): string =>
    variables
      .reduce((text, name) => text.replaceAll(`$${name}`, '.*'), query)
      .replaceAll('$__rate_interval', '15s');
  return panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }): [string, string] => [title, withValues(expr)]),
  );
}

/** The metrics that a query selects. */
const metricsOf = (query: string): string[] => [
  ...new Set(query.match(/\b(?:genenv|temporal|process|nodejs)_\w+|\bup(?=\{)/g)),
];

const promtool = (...args: string[]) => promisify(execFile)(defined(promtoolPath), args, { cwd: folder });

describe('promtool', () => {
  test('accepts configuration and alerts', async () => {
    await promtool('check', 'config', 'prometheus.yml');
    await promtool('check', 'rules', 'alerts.yml');
  });

  test('finds that each alert fires when it should, and not before', async () => {
    await promtool('test', 'rules', 'alerts.test.yml');
    const alerts = [...read('infra/prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)].map(
      ([, name]) => name,
    );
    expect(alerts.length).toBeGreaterThan(5);
    for (const alert of alerts) {
      expect(read('infra/prometheus/alerts.test.yml'), alert).toContain(`alertname: ${defined(alert)}`);
      expect(read('docs/telemetry.md'), alert).toContain(`| \`${defined(alert)}\` |`);
    }
  });
});

describe('a Prometheus that scrapes the worker of a run', () => {
  let stack: LiveStack;
  let prometheus: TestProcess | undefined;
  let url: string;
  const ask = async <Data>(path: string): Promise<Data> => {
    const answer = await fetch(`${url}/api/v1/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: Data; error?: string };
    if (status !== 'success') throw new Error(error);
    return data;
  };
  const query = async (text: string): Promise<unknown[]> =>
    (await ask<{ result: unknown[] }>(`query?query=${encodeURIComponent(text)}`)).result;

  beforeAll(async () => {
    stack = await LiveStack.shared();
    await stack.policyReady();
    const worker = await stack.startWorker({
      // A failure and a retry, for the queries that count them.
      fault: 'x:rollOut:1:lost',
      environment: { GENENV_METRICS_PORT: '0' },
    });
    const scraped = new URL(defined(/metrics: (\S+)/.exec(worker.output)?.[1])).host;
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const config = readFileSync(join(folder, 'prometheus.yml'), 'utf8')
      .replace('scrape_interval: 15s', 'scrape_interval: 1s\n  evaluation_interval: 1s')
      .replace('127.0.0.1:9464', scraped)
      .replace('127.0.0.1:8741', new URL(stack.policyUrl).host)
      .replace('alerts.yml', join(folder, 'alerts.yml'));
    writeFileSync(join(stack.home, 'prometheus.yml'), config);
    prometheus = new TestProcess(
      defined(prometheusPath),
      [
        `--config.file=${join(stack.home, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(stack.home, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { env: stack.environment, cwd: stack.home, log: join(stack.home, 'prometheus.log') },
    );
    // The run outlives the test, so that its gauges stay.
    await stack.startRun(
      'watched',
      tinyExperiment({
        epochs: 500,
        evaluation: { every: 1 },
        guards: { flatRewards: null, starvedAfter: 5 },
      }),
    );
    await until(
      async () => ((await stack.run('watched').lastMetrics())?.epoch ?? 0) >= 2,
      480_000,
      'the second epoch',
    );
    await until(async () => (await query('genenv_run_epoch').catch(() => [])).length > 0, 60_000, 'a scrape');
  }, 900_000);
  afterAll(async () => {
    await prometheus?.stop();
    await stack[Symbol.asyncDispose]();
  }, 60_000);

  test.each(dashboards.flatMap((file) => queriesOf(file).map(([title, text]) => [file, title, text])))(
    '%s: %s has data: %s',
    async (_, title, text) => {
      await until(async () => (await query(text)).length > 0, 45_000, `${title}: ${text}`);
    },
  );

  test('what dashboards choose from has values', async () => {
    for (const file of dashboards) {
      const { templating } = JSON.parse(read(file)) as Dashboard;
      for (const { query: choice } of templating.list) {
        if (typeof choice === 'string') continue;
        const [, metric, label] = defined(/^label_values\((\w+), (\w+)\)$/.exec(choice.query));
        const values = await ask<string[]>(`label/${defined(label)}/values?match[]=${defined(metric)}`);
        expect(values, choice.query).not.toEqual([]);
      }
    }
  });

  test('every alert is evaluated, on metrics that are there', async () => {
    type Rule = { name: string; query: string; health: string; lastError?: string };
    const read = async (): Promise<Rule[]> =>
      (await ask<{ groups: { rules: Rule[] }[] }>('rules')).groups.flatMap(({ rules }) => rules);
    await until(async () => (await read()).every(({ health }) => health === 'ok'), 30_000, 'the alerts');
    const rules = await read();
    expect(rules.length).toBeGreaterThan(5);
    for (const { name, query: text } of rules)
      for (const metric of metricsOf(text))
        expect((await query(metric)).length, `${metric} of ${name}`).toBeGreaterThan(0);
  });

  test('the scraped text is what Prometheus expects', async () => {
    const { activeTargets } = await ask<{
      activeTargets: { labels: { job: string }; health: string; lastError: string }[];
    }>('targets');
    expect(activeTargets.map(({ labels, health, lastError }) => [labels.job, health, lastError])).toEqual([
      ['genenv', 'up', ''],
      ['genenv-policy-server', 'up', ''],
    ]);
  });
});
