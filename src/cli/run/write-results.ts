import { pythonPath } from '../../../infra/setup/locations.mjs';
import { writeReport, writeTensorboard } from '../../report/write-report.ts';
import type { CliContext } from '../context.ts';

/**
 * Writes what people look at of a run, report and TensorBoard files, and gives the report's path. The report
 * does not depend on the trainer's Python: without it there are only no event files, which is said.
 */
export async function writeResults(home: string, runId: string, context: CliContext): Promise<string> {
  const report = await writeReport({ home, runId, worlds: context.env.GENENV_WORLDS });
  try {
    await writeTensorboard({ home, runId, python: pythonPath() });
  } catch (error) {
    context.warn((error as Error).message);
  }
  return report;
}
