import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { read } from './repository.ts';

/** YAML by the Python of the trainer. */
function parseYaml(path: string): unknown {
  const script = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)';
  return JSON.parse(
    execFileSync(pythonPath(), ['-c', script], {
      input: read(path),
      encoding: 'utf8',
    }),
  );
}

describe('infra/skypilot.yaml', () => {
  it('is one task with the fields that SkyPilot knows, and runs what this repository has', () => {
    const task = parseYaml('infra/skypilot.yaml') as Record<string, unknown> & {
      setup: string;
      run: string;
      envs: Record<string, string>;
    };
    expect(Object.keys(task).sort()).toEqual(['envs', 'resources', 'run', 'setup', 'workdir']);
    const variables = [...`${task.setup}${task.run}`.matchAll(/\$([A-Z]+)\b/g)].map(([, name]) => name!);
    expect(Object.keys(task.envs)).toEqual(expect.arrayContaining(variables));
    for (const path of ['infra/setup/setup.mjs', 'src/cli/genenv.ts', task.envs.FILE!])
      expect(read(path)).not.toBe('');
    const json = execFileSync('sh', ['-c', task.setup.split('\n')[1]!.replace('> ~/genenv/store.json', '')], {
      env: { BUCKET: 'my-runs', REGION: 'eu-central-1' },
      encoding: 'utf8',
    });
    expect(JSON.parse(json)).toEqual({
      type: 's3',
      bucket: 'my-runs',
      prefix: 'genenv',
      region: 'eu-central-1',
    });
  });
});
