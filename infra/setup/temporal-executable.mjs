// @ts-check
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TEMPORAL_VERSION, cachedTemporal, onPath, temporalPath } from './locations.mjs';
import { run } from './run-command.mjs';
import { buildingFolder } from './unfinished.mjs';

/** Hashes (sha256) of the official archives of TEMPORAL_VERSION: a new version needs new ones. @type {Record<string, string>} */
export const temporalHashes = {
  'linux-amd64': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  'linux-arm64': 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  'darwin-amd64': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  'darwin-arm64': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};

/** Go's sum of the module's archive, as its checksum database has it. */
const MODULE_SUM = 'h1:0RZMk14BWxz44Xg6ciDQvpfAMffoG3J7/K03ql80teY=';

const CONNECT_SECONDS = 5;
const DOWNLOAD_SECONDS = 300;

/** @param {string} path */
const works = (path) =>
  run(path, ['--version'], { timeoutSeconds: 30 }).then(
    () => true,
    () => false,
  );

/**
 * The official build for this machine, compared with its hash before anything is unpacked.
 * @param {string} folder
 * @param {{ machine?: string, from?: string }} [options] `from`: folder of the archives
 * @throws Error if no hash is known, or it is another one
 */
export async function downloadTemporal(
  folder,
  {
    machine = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`,
    from = `https://github.com/temporalio/cli/releases/download/v${TEMPORAL_VERSION}`,
  } = {},
) {
  const expected = temporalHashes[machine];
  if (expected === undefined)
    throw new Error(`no hash of Temporal ${TEMPORAL_VERSION} for ${machine} is known; nothing is downloaded`);
  const address = `${from}/temporal_cli_${TEMPORAL_VERSION}_${machine.replace('-', '_')}.tar.gz`;
  const abort = new globalThis.AbortController();
  let timer = setTimeout(() => abort.abort(), CONNECT_SECONDS * 1000);
  try {
    const response = await fetch(address, { signal: abort.signal });
    if (!response.ok) throw new Error(`${new globalThis.URL(address).host} answered ${response.status}`);
    globalThis.clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), DOWNLOAD_SECONDS * 1000);
    const archive = Buffer.from(await response.arrayBuffer());
    const hash = createHash('sha256').update(archive).digest('hex');
    if (hash !== expected)
      throw new Error(`${address} has the sha256 ${hash}, and not ${expected}; it is not used`);
    writeFileSync(join(folder, 'temporal.tar.gz'), archive);
  } finally {
    globalThis.clearTimeout(timer);
  }
  await run('tar', ['-xzf', join(folder, 'temporal.tar.gz'), '-C', folder, 'temporal']);
}

/**
 * Go checks every module against its checksum database, and the one of Temporal has to have the sum above.
 * @param {string} folder
 * @param {string} go
 */
async function build(folder, go) {
  const module = `github.com/temporalio/cli@v${TEMPORAL_VERSION}`;
  const { Sum: sum } = JSON.parse(await run(go, ['mod', 'download', '-json', module], { cwd: folder }));
  if (sum !== MODULE_SUM)
    throw new Error(`${module} has the sum ${sum}, and not ${MODULE_SUM}; it is not used`);
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
    if (path === cachedTemporal()) return existsSync(path) && (await works(path));
    if (await works(path)) return true;
    throw new Error(
      process.env.GENENV_TEMPORAL
        ? `GENENV_TEMPORAL=${path} is no Temporal executable that runs here; unset it, or correct it`
        : `${path}, the first Temporal on the PATH, does not run here; mend it or take it off the PATH`,
    );
  },
  async run(say) {
    const target = cachedTemporal();
    const folder = buildingFolder(dirname(target));
    try {
      try {
        await downloadTemporal(folder);
      } catch (error) {
        const go = onPath('go');
        if (go === null) throw new Error(`no download of Temporal: ${causeOf(error)}`, { cause: error });
        say(
          `no download of Temporal (${causeOf(error)}); building it from source with Go, 2 to 5 minutes ...`,
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
    'install the Temporal CLI (https://docs.temporal.io/cli) so that `temporal` is on the PATH, or set GENENV_TEMPORAL to it, install Go 1.24 or newer to have it built, or set XDG_CACHE_HOME if the cache folder cannot be written; then run the command again',
};

/** @param {unknown} error */
function causeOf(error) {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'AbortError') return `no answer within ${CONNECT_SECONDS} s`;
  return error.cause instanceof Error ? error.cause.message : error.message;
}
