import { expect, test } from 'vitest';
import { commandLine, temporalFlags } from '../../src/cli/lib/command-line.ts';

test('a command is printed as a shell reads it, without the options that were not given', () => {
  const options = { address: 'a:7233', profile: "it's" };
  expect(
    commandLine(['run', 'my file.json'], {
      '--id': undefined,
      '--only': true,
      '--dry-run': false,
      '--track': ['wandb', 'mlflow'],
      '--epoch': 0,
      ...temporalFlags(options),
    }),
  ).toBe(
    "npx genenv run 'my file.json' --only --track wandb --track mlflow --epoch 0 --address a:7233 --profile 'it'\\''s'",
  );
});
