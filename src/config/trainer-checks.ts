/** What the launcher of a run's training jobs could not do for them. */
import type { Experiment } from './experiment.ts';

/** Launchers that start one process a job. */
const singleProcess: readonly string[] = ['resident', 'process', 'ray'];

export function* trainerProblems({ trainer, agent, environment }: Experiment): Generator<string> {
  const { processes = 1, launcher, sharding } = trainer;
  if (processes > 1 && singleProcess.includes(launcher.type))
    yield `trainer.processes: got ${processes}; expected 1, since trainer.launcher "${launcher.type}" starts one process`;
  if (sharding !== 'full') return;
  const adapted = Object.entries({ agent, environment }).find(
    ([, { model }]) => model.type === 'pretrained' && model.adapter,
  );
  if (adapted !== undefined)
    yield `trainer.sharding: got "full"; expected "none", since ${adapted[0]}.model.adapter trains no full weights`;
  else if (processes === 1)
    yield 'trainer.sharding: got "full"; one process has all weights: set trainer.processes, or leave sharding out';
}
