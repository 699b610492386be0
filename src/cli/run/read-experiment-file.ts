import { readFile } from 'node:fs/promises';
import { parseExperiment } from '../../contracts/parse-experiment.ts';
import type { Experiment } from '../../contracts/experiment.ts';
import { CliError, exitCodes } from '../exit-codes.ts';

export interface ExperimentFile {
  /** As it is in the file: what the workflow is started with. */
  raw: unknown;
  experiment: Experiment;
}

/** @throws CliError for a file that is not there or no JSON, InvalidConfig naming each wrong field */
export async function readExperimentFile(file: string): Promise<ExperimentFile> {
  const raw = parseJson(file, await read(file));
  return { raw, experiment: parseExperiment(raw) };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : message;
    throw new CliError(`experiment file: got ${JSON.stringify(file)}, but ${why}; expected the path of an experiment file, such as experiments/laptop.json`, exitCodes.badInput);
  }
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`experiment file: ${file} is not JSON: ${(error as Error).message}`, exitCodes.badInput);
  }
}
