import { existsSync } from 'node:fs';
import { describe } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { trackerContract } from './tracker-contract.ts';

const missing = existsSync(pythonPath()) ? '' : ' (skipped: the trainer’s Python environment is not set up)';

describe.skipIf(missing !== '')(`TensorBoard${missing}`, () => {
  trackerContract({
    tracker: 'tensorboard',
    env: () => process.env,
    place: (_home, _key, run) => [run.folder.tensorboardFolder],
  });
});
