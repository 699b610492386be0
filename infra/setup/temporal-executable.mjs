// @ts-check
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TEMPORAL_VERSION, cachedTemporal, onPath, temporalPath } from './locations.mjs';
import { run } from './run-command.mjs';
import { buildingFolder } from './unfinished.mjs';

const CONNECT_SECONDS = 5;
const DOWNLOAD_SECONDS = 300;

/** @param {string} path */
const works = (path) =>
  run(path, ['--version'], { timeoutSeconds: 30 }).then(
    () => true,
    () => false,
  );

/**
 * The official build for this machine.
 * @param {string} folder
 */
async function download(folder) {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const address = `https://temporal.download/cli/archive/v${TEMPORAL_VERSION}?platform=${process.platform}&arch=${architecture}`;
  const abort = new globalThis.AbortController();
  let timer = setTimeout(() => abort.abort(), CONNECT_SECONDS * 1000);
  try {
    const response = await fetch(address, { signal: abort.signal });
    if (!response.ok) throw new Error(`temporal.download answered ${response.status}`);
    globalThis.clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), DOWNLOAD_SECONDS * 1000);
    writeFileSync(join(folder, 'temporal.tar.gz'), Buffer.from(await response.arrayBuffer()));
  } finally {
    globalThis.clearTimeout(timer);
  }
  await run('tar', ['-xzf', join(folder, 'temporal.tar.gz'), '-C', folder, 'temporal']);
}

/**
 * @param {string} folder
 * @param {string} go
 */
async function build(folder, go) {
  await run(go, ['install', `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_VERSION}`], {
    env: { GOBIN: folder },
  });
}

/** @type {import('./steps.mjs').Step} */
export const temporalExecutable = {
  name: 'Temporal executable',
  doing: `fetching Temporal ${TEMPORAL_VERSION}`,
  async ready() {
    const path = temporalPath();
    if (process.env.GENENV_TEMPORAL && !(await works(path)))
      throw new Error(
        `GENENV_TEMPORAL=${path} is no Temporal executable that runs here; unset it, or correct it`,
      );
    return existsSync(path) && (await works(path));
  },
  async run(say) {
    const target = cachedTemporal();
    const folder = buildingFolder(dirname(target));
    try {
      try {
        await download(folder);
      } catch (error) {
        const go = onPath('go');
        if (go === null) throw error;
        say(
          `temporal.download cannot be reached (${causeOf(error)}); building it from source with Go, 2 to 5 minutes ...`,
        );
        await build(folder, go);
      }
      chmodSync(join(folder, 'temporal'), 0o755);
      await run(join(folder, 'temporal'), ['--version']);
      mkdirSync(dirname(target), { recursive: true });
      renameSync(join(folder, 'temporal'), target);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  remedy:
    'install the Temporal CLI (https://docs.temporal.io/cli) so that `temporal` is on the PATH, or set GENENV_TEMPORAL to it, or install Go 1.24 or newer to have it built; then run the command again',
};

/** @param {unknown} error */
function causeOf(error) {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'AbortError') return `no answer within ${CONNECT_SECONDS} s`;
  return error.cause instanceof Error ? error.cause.message : error.message;
}
