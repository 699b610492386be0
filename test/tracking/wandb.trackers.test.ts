import { join } from 'node:path';
import { describe } from 'vitest';
import { trackerContract } from './tracker-contract.ts';

describe('W&B, offline', () => {
  trackerContract({
    tracker: 'wandb',
    env: () => ({ ...process.env, WANDB_MODE: 'offline' }),
    place: (home, key) => [join(home, 'trackers', 'wandb'), key],
  });
});
