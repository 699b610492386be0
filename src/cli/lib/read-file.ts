import { readFile } from 'node:fs/promises';
import type { Experiment } from '../../config/experiment.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { parsePrices } from '../../config/prices.ts';
import type { Prices } from '../../config/prices.ts';
import { CliError, exitCodes } from '../context.ts';

export interface ExperimentFile {
  /** As it is in the file; the workflow is started with it. */
  raw: unknown;
  experiment: Experiment;
}

/** @throws CliError if the file cannot be read or is not JSON, InvalidConfig naming each wrong field */
export async function readExperimentFile(file: string): Promise<ExperimentFile> {
  const raw = await readInputFile('experiment file', file, 'experiments/laptop.json');
  return { raw, experiment: parseExperiment(raw) };
}

/** @throws CliError if the file cannot be read or is not JSON, InvalidConfig naming each wrong field */
export const readPricesFile = async (file: string): Promise<Prices> =>
  parsePrices(await readInputFile('prices file', file, 'experiments/prices.json'));

const READ_PROBLEMS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
};

/** Reads a JSON file that a person wrote. @throws CliError if it cannot be read or is not JSON */
export async function readInputFile(
  kind:
    'experiment file' | 'nightly file' | 'comparison file' | 'evaluation file' | 'prices file' | 'summary',
  file: string,
  example: string,
): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const article = /^[aeiou]/.test(kind) ? 'an' : 'a';
    throw new CliError(
      `${kind}: got ${JSON.stringify(file)}, but ${READ_PROBLEMS[code] ?? message}; ` +
        `expected the path of ${article} ${kind}, such as ${example}`,
      exitCodes.badInput,
    );
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${kind}: ${file} is not JSON: ${(error as Error).message}`, exitCodes.badInput);
  }
}
