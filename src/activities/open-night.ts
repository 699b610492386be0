import { deriveSeed } from '../coevolution/seeds.ts';
import { changedFields } from '../contracts/changed-fields.ts';
import type { Experiment } from '../contracts/experiment.ts';
import { parseNightly } from '../contracts/nightly.ts';
import type { Nightly, OpenNight, RunEpoch } from '../contracts/nights.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { Ports } from './ports.ts';

/**
 * The night to be done, by the curriculum's own record: the next one, or the one that was interrupted or failed, whose experiment is
 * gone on with. Where the nightly file was changed under an unfinished night, that night is abandoned, and the next one begins.
 * @throws InvalidConfig naming the field
 */
export function createOpenNight(ports: Ports) {
  return async ({ file }: { file: unknown }): Promise<OpenNight> => {
    const nightly = parseNightly(file);
    const folder = ports.nightlyFolder(nightly.name);
    for (;;) {
      const { night, standing } = await folder.next();
      const from = standing ?? nightly.experiment.startFrom;
      const experiment = experimentOf(nightly, night, from);
      const id = `${nightly.name}-night-${String(night).padStart(4, '0')}`;
      const begun = await ports.runFolder(id).readExperiment();
      if (begun === undefined || begun.sha256 === hashOf(experiment)) {
        const { heartbeatSeconds, maxPhaseAttempts } = experiment.durability;
        const { name, significance, evaluation, deadlineMinutes } = nightly;
        return {
          nightly: { name, significance, evaluation },
          night,
          id,
          experiment,
          from,
          deadlineMs: deadlineMinutes === null ? null : 60_000 * deadlineMinutes,
          settings: { heartbeatSeconds, maxPhaseAttempts },
        };
      }
      const reason = `the nightly file was changed before the night was closed (${changedFields(begun.experiment, experiment)}); ${id} is left as it is`;
      await folder.close({
        night,
        outcome: 'abandoned',
        reason,
        standing,
        candidate: null,
        test: null,
        time: new Date().toISOString(),
      });
    }
  };
}

/** A seed of its own for each night: one that was not promoted is not done again exactly as it was. */
function experimentOf(
  { experiment, epochsPerNight }: Nightly,
  night: number,
  from: RunEpoch | null,
): Experiment {
  const seed = night === 1 ? experiment.seed : deriveSeed(experiment.seed, 'night', night);
  return { ...experiment, seed, epochs: (from?.epoch ?? 0) + epochsPerNight, startFrom: from };
}
