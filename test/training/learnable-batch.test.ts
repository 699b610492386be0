import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { pythonPath, repository } from '../../infra/setup/locations.mjs';
import { collect } from '../../src/async/streams.ts';
import { randomStream } from '../../src/numerics/random.ts';
import type { TrainingRecord } from '../../src/training/job-settings.ts';
import { LearnableBatch } from '../../src/training/learnable-batch.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

/** What the trainer says of batches, by its own reading of them and its own rule. */
const asTheTrainer = `
import json, sys
from pathlib import Path
from types import SimpleNamespace
from genenv_trainer.records import read_records
from genenv_trainer.training import skip_reason
settings = SimpleNamespace(max_policy_lag=0, policy_version="agent@0001-0", max_completion_length=4)
for batch in json.loads(Path(sys.argv[1]).read_text()):
    path = Path(sys.argv[1]).with_name("batch.jsonl")
    path.write_text("".join(json.dumps(record) + "\\n" for record in batch["records"]))
    steps = read_records(path, batch["kind"], settings)
    reasons = [skip_reason(batch["kind"], records, batch["least"]) for records in steps]
    done = [reason is None for reason in reasons]
    print(json.dumps(None if any(done) else [len(steps), reasons[0] if steps else "empty_batch", reasons]))
`;

interface Batch {
  kind: 'grpo' | 'rwr';
  least: number;
  records: TrainingRecord[];
}

function someBatch(seed: number): Batch {
  const random = randomStream(seed);
  const kind = random.int(2) === 0 ? 'grpo' : 'rwr';
  const weights = kind === 'grpo' ? [1] : [0, 0, 0.5];
  const records = Array.from({ length: random.int(7) }, (): TrainingRecord => {
    const step = random.int(3);
    return {
      step,
      group_id: `task-${step}-${random.int(2)}`,
      env_name: 'any',
      advantage: random.pick([0, 0, 0.5]),
      weight: random.pick(weights),
      token_ids: [1, 2, 3],
      mask: random.pick([
        [0, 0, 0],
        [0, 1, 1],
        [0, 1, 1],
      ]),
      logprobs: [0, -1, -1],
      temperature: 1,
      policy_version: 'agent@0001-0',
    };
  });
  return { kind, least: kind === 'grpo' ? random.int(3) : 0, records };
}

test('finds what the trainer finds: which batches have nothing to learn from, and why', async () => {
  const batches = Array.from({ length: 300 }, (_, seed) => someBatch(seed));
  const file = join(await temporaryFolder(), 'batches.json');
  await writeFile(file, JSON.stringify(batches));
  const { stdout } = await promisify(execFile)(pythonPath(), ['-c', asTheTrainer, file], {
    env: { ...process.env, PYTHONPATH: join(repository, 'trainer') },
  });
  const expected = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as [number, string, string[]] | null);
  const skips = expected.filter((outcome) => outcome !== null);
  expect(skips.length).toBeGreaterThan(50);
  expect(expected.length - skips.length).toBeGreaterThan(50);
  expect(new Set(skips.map(([, reason]) => reason)).size).toBe(2);
  for (const [index, { least, records }] of batches.entries()) {
    const learnable = new LearnableBatch(least);
    const watched = await collect(learnable.watch(asStream(records)));
    expect(watched).toEqual(records);
    const outcome = expected[index] ?? null;
    const skipped = learnable.skipped();
    if (outcome === null) {
      expect(skipped, `batch ${index}`).toBeNull();
      continue;
    }
    const [steps, reason, reasons] = outcome;
    const counts = Object.fromEntries(
      [...Map.groupBy(reasons, (each) => each)].map(([each, group]) => [each, group.length]),
    );
    expect(skipped, `batch ${index}`).toEqual({
      steps,
      steps_done: 0,
      skipped: reason,
      skipped_steps: counts,
      kl: { before: null, after: null, rule: 'none' },
    });
  }
}, 240_000);

async function* asStream<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
  await Promise.resolve();
}
