import { parseExperiment } from '../../config/parse-experiment.ts';
import { requireRun } from '../../runs/run-state.ts';
import type { ControlState } from '../../workflows/messages.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { goOn } from '../run/go-on.ts';
import { externalTemporal } from '../run/temporal-target.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { Refused, sendUpdate } from './ask.ts';
import { lookUp } from './look-up.ts';
import { stateOf } from './verbs.ts';

/**
 * `genenv resume`: a paused run goes on; one that does not run is started again from its own file, on
 * whatever server there is.
 */
export async function resume(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  const found = await lookUp(id, options, context);
  if (found?.running === true) {
    context.print(stateOf(id, await sendUpdate<ControlState>(found, 'resume')));
    return exitCodes.ok;
  }
  const home = homeFolder(context.env);
  const folder = await requireRun(home, id);
  const raw = (await folder.readExperiment())?.experiment;
  const asked = {
    raw,
    experiment: parseExperiment(raw),
    id,
    home,
    again: `npx genenv resume ${id}`,
    fresh: `npx genenv run ${folder.experimentFile} --id ${id}-2`,
  };
  return goOn({ ...asked, whenRunning }, externalTemporal(options, context.env), context);
}

/** The server of a stack that was stopped remembers a pause. */
async function whenRunning(running: Parameters<typeof sendUpdate>[0]): Promise<void> {
  try {
    await sendUpdate<ControlState>(running, 'resume');
  } catch (error) {
    if (!(error instanceof Refused) || error.type !== 'NotPaused') throw error;
  }
}
