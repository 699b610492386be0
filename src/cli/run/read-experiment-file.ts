import { readFile } from 'node:fs/promises';
import type { Experiment } from '../../config/experiment.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { CliError, exitCodes } from '../exit-codes.ts';

export interface ExperimentFile {
  /** As it is in the file: what the workflow is started with. */
  raw: unknown;
  experiment: Experiment;
}

/** @throws CliError for a file that is not there or no JSON, InvalidConfig naming each wrong field */
export async function readExperimentFile(file: string): Promise<ExperimentFile> {
  const raw = await readJsonFile('experiment file', file, 'experiments/laptop.json');
  return { raw, experiment: parseExperiment(raw) };
}

/** @throws CliError for a file that is not there or no JSON */
export async function readJsonFile(
  kind: 'experiment file' | 'nightly file' | 'comparison file' | 'evaluation file',
  file: string,
  example: string,
): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : message;
    throw new CliError(
      `${kind}: got ${JSON.stringify(file)}, but ${why}; expected the path of ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}, such as ${example}`,
      exitCodes.badInput,
    );
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${kind}: ${file} is not JSON: ${(error as Error).message}`, exitCodes.badInput);
  }
}
