import { drawExemplars } from '../coevolution/exemplar-draw.ts';
import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { RunState } from '../contracts/phases.ts';
import type { EnvironmentPoolRecord } from '../contracts/records.ts';
import type { Exemplar } from '../worlds/world.ts';
import type { Ports } from './ports.ts';

/** What the arm `best-of-n` shows its simulator in each of an epoch's prompts: tasks of D_env, each text once, its newest reward. Other arms show nothing. */
export async function exemplarsOf(
  { store }: Ports,
  { arm, seed }: Experiment,
  epoch: number,
  state: RunState,
): Promise<(prompt: number) => Exemplar[]> {
  if (arm.type !== 'best-of-n') return () => [];
  const newest = new Map<
    string,
    Pick<EnvironmentPoolRecord, 'env_reward'> & { spec: string; weight: number }
  >();
  for await (const { signature, env_reward, guard } of store.records<EnvironmentPoolRecord>(
    state.environment_pool,
  ))
    newest.set(signature, { spec: signature, env_reward, weight: guard });
  const records = [...newest.values()];
  return (prompt) =>
    drawExemplars(
      records,
      arm.exemplars,
      arm,
      randomStream(deriveSeed(seed, epoch, 'exemplars', prompt)),
    ).map(({ spec, env_reward }) => ({ spec, reward: env_reward }));
}
