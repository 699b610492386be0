import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../src/numerics/arithmetic.ts';
import { LiveStack } from '../test-support/live-stack.ts';
import { OtlpReceiver } from '../test-support/otlp-receiver.ts';
import type { TestProcess } from '../test-support/processes.ts';
import { tinyExperiment } from '../test-support/tiny-experiment.ts';

const rounds = 8;
const epochs = 4;
/** As in infra/prometheus/prometheus.yml. */
const scrapeMs = 15_000;

interface Side {
  stack: LiveStack;
  worker: TestProcess;
}
interface Round {
  epoch_seconds: number;
  rollouts_per_second: number;
  worker_cpu_seconds: number;
}

/**
 * What encryption, metrics that are scraped, traces and JSON logs cost together: real runs of the tiny
 * experiment on real servers, with all of it and with none, one after the other, each side first in every
 * other round; a ratio is the median of the rounds'. The worker's processor time tells more than the clock on
 * a machine that does other things: what it uses more is set against an epoch of 30 s too, which is short.
 */
export async function telemetry(): Promise<Record<string, unknown>> {
  await using services = await LiveStack.start();
  await services.policyReady();
  await using receiver = await OtlpReceiver.start();
  await using off = await LiveStack.on(services.services);
  await using on = await LiveStack.on(services.services, {
    GENENV_PAYLOAD_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    GENENV_METRICS_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  });
  const sides: Record<'off' | 'on', Side> = {
    off: { stack: off, worker: await off.startWorker() },
    on: { stack: on, worker: await on.startWorker() },
  };
  const url = /(http:\S+\/metrics)/.exec(sides.on.worker.output)?.[1];
  if (url === undefined) throw new Error(`the worker serves no metrics: ${sides.on.worker.output}`);
  const scraped = { bytes: 0, times: 0 };
  const measure = async (name: 'off' | 'on', id: string): Promise<Round> => {
    const stop = new AbortController();
    const scraping = name === 'on' ? scrapeUntil(stop.signal, url, scraped) : undefined;
    const round = await measureRun(sides[name], id);
    stop.abort();
    await scraping;
    return round;
  };
  // Caches of the store, the servers and the just-in-time compiler.
  for (const name of ['off', 'on'] as const) await measure(name, `${name}-first`);
  receiver.spans.length = 0;
  const measured: Record<'off' | 'on', Round>[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const);
    const results: Partial<Record<'off' | 'on', Round>> = {};
    for (const name of order) results[name] = await measure(name, `${name}-${round}`);
    measured.push(results as Record<'off' | 'on', Round>);
    console.log(JSON.stringify(results));
  }
  const ratioOf = (ratio: (round: Record<'off' | 'on', Round>) => number): number =>
    median(measured.map(ratio))!;
  const medianOf = (side: 'off' | 'on', figure: keyof Round): number =>
    median(measured.map((round) => round[side][figure]))!;
  const [offSeconds, onSeconds] = [medianOf('off', 'epoch_seconds'), medianOf('on', 'epoch_seconds')];
  const [offCpu, onCpu] = [medianOf('off', 'worker_cpu_seconds'), medianOf('on', 'worker_cpu_seconds')];
  return {
    rounds: measured,
    epoch_seconds: {
      off: offSeconds,
      on: onSeconds,
      ratio: ratioOf(({ off, on }) => off.epoch_seconds / on.epoch_seconds),
    },
    rollouts_per_second: {
      off: medianOf('off', 'rollouts_per_second'),
      on: medianOf('on', 'rollouts_per_second'),
      ratio: ratioOf(({ off, on }) => on.rollouts_per_second / off.rollouts_per_second),
    },
    ratio_for_30_s_epochs: 30 / (30 + (onCpu - offCpu) / epochs),
    target_ratio: 0.97,
    worker_cpu_seconds_per_epoch: { off: offCpu / epochs, on: onCpu / epochs },
    spans_per_epoch: receiver.spans.length / (rounds * epochs),
    scrape_bytes: Math.round(scraped.bytes / scraped.times),
  };
}

async function measureRun({ stack, worker }: Side, id: string): Promise<Round> {
  const cpuBefore = cpuSeconds(worker);
  const { environment, ...tiny } = tinyExperiment({ epochs });
  const larger = { ...tiny, environment: { ...(environment as object), promptsPerEpoch: 16 } };
  await (await stack.startRun(id, larger)).result();
  const lines = (await stack.run(id).metrics()).filter(({ epoch }) => epoch > 0);
  const times = lines.map(({ time }) => time!);
  const traces = stack.entries(id).flatMap(({ outputs }) => outputs.traces);
  const rollouts = traces.reduce((sum, { count }) => sum + count, 0);
  return {
    epoch_seconds: median(times.map(({ epoch = 0 }) => epoch))!,
    rollouts_per_second: rollouts / times.reduce((sum, time) => sum + (time['roll out'] ?? 0), 0),
    worker_cpu_seconds: cpuSeconds(worker) - cpuBefore,
  };
}

/** Processor time of a process so far, which Linux counts in hundredths of a second. */
function cpuSeconds({ child }: TestProcess): number {
  const fields = readFileSync(`/proc/${child.pid!}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function scrapeUntil(
  signal: AbortSignal,
  url: string,
  scraped: { bytes: number; times: number },
): Promise<void> {
  while (!signal.aborted) {
    const text = await (await fetch(url)).text();
    scraped.bytes += text.length;
    scraped.times += 1;
    await sleep(scrapeMs, undefined, { signal }).catch(() => undefined);
  }
}
