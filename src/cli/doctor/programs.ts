import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { pythonPath, temporalPath } from '../../../infra/setup/locations.mjs';
import { missing, ok } from './check.ts';
import type { Check } from './check.ts';

const run = promisify(execFile);
const setUp = 'run `node infra/setup/setup.mjs`';
const NEEDED_NODE = 24;

export function node(): Check {
  const major = Number(process.versions.node.split('.')[0]);
  return major >= NEEDED_NODE
    ? ok('Node', process.versions.node)
    : missing(
        'Node',
        process.versions.node,
        `run \`npx genenv\` or \`npm run genenv\`, which use the Node ${NEEDED_NODE} of node_modules`,
      );
}

/** The Python environment, and PyTorch as it sees the machine. */
export async function python(): Promise<Check[]> {
  const path = pythonPath();
  if (!existsSync(path)) return [missing('Python environment', `${path} is not there`, setUp)];
  const probe =
    'import sys, torch, transformers; print(sys.version.split()[0], torch.__version__, transformers.__version__, torch.cuda.is_available(), torch.get_num_threads())';
  try {
    const { stdout } = await run(path, ['-c', probe], { timeout: 120_000 });
    const [version = '', torch = '', transformers = '', cuda = '', threads = ''] = stdout.trim().split(' ');
    return [
      ok('Python environment', `${version}, ${path}`),
      ok('PyTorch', `${torch}, ${cuda === 'True' ? 'CUDA' : `CPU, ${threads} threads`}`),
      ok('transformers', transformers),
    ];
  } catch (error) {
    const last = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1) ?? (error as Error).message;
    return [missing('Python environment', `${path}: ${last}`, `${setUp}, or correct GENENV_PYTHON`)];
  }
}

export async function temporal(): Promise<Check> {
  const path = temporalPath();
  if (!existsSync(path)) return missing('Temporal executable', `${path} is not there`, setUp);
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 20_000 });
    return ok('Temporal executable', `${stdout.trim()}, ${path}`);
  } catch (error) {
    return missing(
      'Temporal executable',
      `${path}: ${(error as Error).message.split('\n')[0] ?? ''}`,
      'correct GENENV_TEMPORAL, or remove that file and run set-up',
    );
  }
}
