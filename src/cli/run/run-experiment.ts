import { worldLoader } from '../../worlds/registry.ts';
import type { RunOptions } from '../commands/run.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { dryRun } from './dry-run.ts';
import { goOn } from './go-on.ts';
import { readExperimentFile } from './read-experiment-file.ts';
import { externalTemporal } from './temporal-target.ts';

/** `genenv run`: everything is checked before anything is started or written. */
export async function runExperiment(
  file: string,
  options: RunOptions,
  context: CliContext,
): Promise<ExitCode> {
  const { raw, experiment } = await readExperimentFile(file);
  const id = options.id ?? experiment.name;
  const external = externalTemporal(options, context.env);
  if (options.dryRun === true) {
    context.print(dryRun(experiment, await worldLoader(context.env.GENENV_WORLDS)(experiment.world)));
    return exitCodes.ok;
  }
  const again = `npx genenv run ${file}${id === experiment.name ? '' : ` --id ${id}`}`;
  return goOn(
    {
      raw,
      experiment,
      id,
      home: homeFolder(context.env),
      again,
      fresh: `npx genenv run ${file} --id ${id}-2`,
    },
    external,
    context,
  );
}
