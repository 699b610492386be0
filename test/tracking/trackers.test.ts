import { describe, expect, test, vi } from 'vitest';
import { parseTrackers, trackerEnvironment, trackerPython } from '../../src/tracking/trackers.ts';
import { memoryFolder } from '../store/temporary-folder.ts';

test('names of trackers, repeated or with commas', () => {
  expect(parseTrackers('--track', ['wandb,mlflow', 'wandb', ' trackio'])).toEqual([
    'wandb',
    'mlflow',
    'trackio',
  ]);
  expect(() => parseTrackers('--track', ['wandb,comet'])).toThrow(
    '--track: got "comet"; allowed: wandb, mlflow, trackio, tensorboard',
  );
});

describe('the environment of a tracker’s process', () => {
  const environment = {
    PATH: '/bin',
    WANDB_API_KEY: 'canary-w',
    MLFLOW_TRACKING_TOKEN: 'canary-m',
    OPENAI_API_KEY: 'canary-o',
    HTTPS_PROXY: 'http://proxy',
  };

  test('has its own keys, and nobody else’s', () => {
    expect(trackerEnvironment('wandb', environment)).toEqual({
      PATH: '/bin',
      WANDB_API_KEY: 'canary-w',
      HTTPS_PROXY: 'http://proxy',
    });
    expect(JSON.stringify(trackerEnvironment('tensorboard', environment))).not.toContain('canary');
  });
});

test('a tracker that is not installed names the command that installs it', async () => {
  vi.stubEnv('XDG_CACHE_HOME', await memoryFolder());
  expect(() => trackerPython('mlflow')).toThrow(
    /^tracker: got "mlflow", whose packages are not installed .*run `npm run engines -- trackers`$/,
  );
  vi.unstubAllEnvs();
});
