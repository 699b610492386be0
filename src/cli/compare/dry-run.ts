import { armRuns, probingAttempts } from '../../comparison/plan.ts';
import type { Comparison } from '../../config/comparison.ts';
import { estimateResources } from '../../runs/resource-estimate.ts';
import { worldLoader } from '../../worlds/registry.ts';
import type { CliContext } from '../context.ts';
import { plainTable } from '../show/table.ts';
import { byteText, whole } from '../show/units.ts';

/** What `compare --dry-run` prints: the arms, what a run of each would take, and all of them together. */
export async function compareDryRun(
  id: string,
  comparison: Comparison,
  { env }: CliContext,
): Promise<string> {
  const load = worldLoader(env.GENENV_WORLDS);
  const { arms, seeds, concurrency } = comparison;
  const table = plainTable(['arm', 'epochs', 'rollouts', 'held-out attempts', 'tokens', 'disk']);
  const total = { tokens: 0, disk: 0 };
  for (const [arm, experiment] of Object.entries(arms)) {
    const { rollouts, evaluations, tokens, disk } = estimateResources(
      experiment,
      await load(experiment.world),
    );
    table.push([
      arm,
      whole(experiment.epochs),
      whole(rollouts),
      whole(evaluations),
      whole(tokens),
      byteText(disk),
    ]);
    total.tokens += tokens * seeds.length;
    total.disk += disk * seeds.length;
  }
  const runs = armRuns(id, comparison);
  return [
    'A run of each arm, at most:',
    table.toString(),
    '',
    ...measures(comparison),
    `runs    ${runs.length}, ${concurrency} at a time: ${runs[0]!.id} to ${runs.at(-1)!.id}`,
    `tokens  ${whole(total.tokens)} sampled by the runs`,
    `disk    about ${byteText(total.disk)} in the store`,
    'Nothing was started or written.',
  ].join('\n');
}

/** What is sampled once the runs are finished. */
function* measures({ crossPlay, probes }: Comparison): Generator<string> {
  if (crossPlay !== null) {
    const { arms, seeds, checkpoints, tasks, samples } = crossPlay;
    const of = arms.length * seeds.length * checkpoints * tasks;
    yield `cross-play  ${whole(of)} tasks written, ${whole(of * checkpoints * samples)} attempts`;
  }
  if (probes !== null)
    yield `probes  ${whole(probes.arms.length * probes.seeds.length * probes.checkpoints * probingAttempts(probes))} attempts`;
}
