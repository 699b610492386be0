import { InvalidConfig } from '../../contracts/invalid-config.ts';
import type { EvaluationPlan, PlannedSuite, ShardRecord } from '../../contracts/evaluations.ts';
import type { Ports } from '../ports.ts';
import { planEach, readRecord, suiteSettings } from './evaluation-record.ts';

export type RescoringPlan = Omit<EvaluationPlan, 'shards'> & { shards: Omit<ShardRecord, 'verdicts'>[] };

/**
 * What judging an evaluation's answers again takes: those answers, and the rules and data that are here now.
 * @throws InvalidConfig for an evaluation that is not there or has not ended, or a suite that is not here
 */
export function createPlanRescoring(ports: Ports) {
  return async ({ id }: { id: string }): Promise<RescoringPlan> => {
    const folder = ports.evaluationFolder(id);
    const results = await folder.readResults();
    if (results === undefined)
      throw new InvalidConfig(
        `rescore: got ${JSON.stringify(id)}; there is no evaluation of that id that has ended (${folder.resultsFile})`,
      );
    const { evaluation } = await readRecord(ports, results.record);
    const suites = await planEach(ports, results.suites, async (before): Promise<PlannedSuite> => {
      if (before.skipped !== null) return { name: before.name, skipped: before.skipped };
      const [suite] = ports.suites.named([before.name]);
      const opened = await ports.suites.open(suite!, suiteSettings(evaluation));
      if ('missing' in opened) throw new InvalidConfig(`rescore: ${before.name}: ${opened.missing}`);
      return {
        name: before.name,
        skipped: null,
        cases: before.cases,
        dataHash: opened.dataHash,
        asking: opened.asking,
        versions: opened.versions,
      };
    });
    const { concurrency, heartbeatSeconds, maxAttempts } = evaluation;
    return {
      id,
      evaluation: results.record,
      identity: results.identity,
      suites,
      shards: results.shards,
      concurrency,
      heartbeatSeconds,
      maxAttempts,
      judged: results.judged,
    };
  };
}
