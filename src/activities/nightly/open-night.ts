import { maxTokenCap } from '../../config/experiment.ts';
import type { Experiment } from '../../config/experiment.ts';
import { parseNightly } from '../../config/nightly.ts';
import type { Nightly } from '../../config/nightly.ts';
import { changedFields } from '../../config/retune.ts';
import { deriveSeed } from '../../numerics/random.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import type { RunFolders } from '../../runs/result-folders.ts';
import type { RunFolder } from '../../runs/run-folder.ts';
import { phaseLimits } from '../../runs/settings-in-effect.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { NightPlan, RunEpoch } from '../../types/nightly-inputs.ts';
import type { Dependencies } from '../dependencies.ts';
import { nightRunId, settingsAtOpening } from './recorded-night.ts';

/**
 * Plans the next night by the curriculum's own record: a new one, or one that was interrupted or failed,
 * whose experiment is resumed. If the nightly file was changed during an unfinished night, that night is
 * abandoned and a new one begins.
 * @throws InvalidConfig naming the field
 */
export function createOpenNight(dependencies: Dependencies) {
  const { nightlyFolder, runFolder } = dependencies;
  return async ({ file }: { file: unknown }): Promise<NightPlan> => {
    const nightly = parseNightly(file);
    const folder = nightlyFolder(nightly.name);
    for (;;) {
      const { night, standing: champion } = await folder.next();
      const plan = await planNight(dependencies, nightly, night, champion);
      const started = await runFolder(plan.id).readExperiment();
      const changes =
        started === undefined || started.sha256 === hashOf(plan.experiment)
          ? changedFields(await settingsAtOpening(dependencies, plan), plan.nightly)
          : changedFields(started.experiment, plan.experiment);
      if (changes === '') return plan;
      await folder.close({
        night,
        outcome: 'abandoned',
        reason: `the nightly file was changed before the night was closed (${changes}); ${plan.id} is left as it is`,
        standing: champion,
        candidate: null,
        test: null,
        time: new Date().toISOString(),
      });
    }
  };
}

async function planNight(
  { runFolder }: RunFolders,
  nightly: Nightly,
  night: number,
  champion: RunEpoch | null,
): Promise<NightPlan> {
  const { name, significance, evaluation, deadlineMinutes } = nightly;
  const from = champion ?? nightly.experiment.startFrom;
  const isCapped = nightly.experiment.maxTokens !== null;
  const tokens = isCapped && from !== null ? await tokensUntil(runFolder(from.run), from.epoch) : 0;
  const experiment = nightExperiment(nightly, night, from, tokens);
  return {
    nightly: { name, significance, evaluation },
    night,
    id: nightRunId(name, night),
    experiment,
    from,
    deadlineMs: deadlineMinutes === null ? null : 60_000 * deadlineMinutes,
    settings: phaseLimits(experiment),
  };
}

/**
 * Each night has a seed of its own: the night after one that was not promoted does not repeat it. A fork
 * counts epochs and tokens from the start of its first parent, so a night's are added to those before it.
 * @param tokens sampled until the epoch that it starts from
 */
function nightExperiment(
  { experiment, epochsPerNight }: Nightly,
  night: number,
  from: RunEpoch | null,
  tokens: number,
): Experiment {
  const seed = night === 1 ? experiment.seed : deriveSeed(experiment.seed, 'night', night);
  const maxTokens = experiment.maxTokens && Math.min(tokens + experiment.maxTokens, maxTokenCap);
  return { ...experiment, seed, epochs: (from?.epoch ?? 0) + epochsPerNight, startFrom: from, maxTokens };
}

/** Tokens sampled until an epoch of a run; 0 if there is none, which its fork is refused for. */
async function tokensUntil(folder: RunFolder, epoch: number): Promise<number> {
  const run = await openRun(folder);
  if (run === undefined) return 0;
  const { fork, ledger } = run;
  const line =
    fork?.epoch === epoch ? fork.line : (await ledger.read()).find((entry) => entry.epoch === epoch);
  return line?.outputs.state.tokens ?? 0;
}
