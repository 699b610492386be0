import type { Command } from 'commander';
import type { FieldValues } from '../../config/retune.ts';
import { CliError, exitCodes } from '../context.ts';
import type { CommandParts } from '../context.ts';

export interface TemporalOptions {
  address?: string;
  namespace?: string;
  profile?: string;
}

/** What `--address` means to a command that starts a workflow. */
export const SERVED_ADDRESS =
  'a Temporal server of your own instead of the embedded stack; a worker must serve it (npm run worker)';

/** The options that name another Temporal server than the embedded one. */
export const addTemporalOptions = (
  command: Command,
  address = 'ask this Temporal server instead of the embedded one',
): Command =>
  command
    .option('--address <host:port>', address)
    .option('--namespace <name>', 'namespace on that server')
    .option('--profile <name>', 'profile of the Temporal configuration file');

export interface ListenOptions {
  host: string;
  port: number;
  allowHost: string[];
}

const MAX_PORT = 65_535;

/** Where a command listens that serves something until Ctrl-C. */
export const addListenOptions = (command: Command, port: number): Command =>
  command
    .option('--port <n>', 'port; 0 = any that is free', parseWholeNumber('--port', 0, MAX_PORT), port)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option(
      '--allow-host <host:port>',
      'another name that this server is asked under; may be given again',
      collectOption,
      [],
    );

/** For a command that says what a run costs. */
export const addPricesOption = (command: Command): Command =>
  command.option(
    '--prices <file>',
    'with the prices of this file (experiments/prices.json), say the money too',
  );

/** @throws CliError if prices were given to a command that starts something */
export function requireDryRun({ prices, dryRun }: { prices?: string; dryRun?: boolean }): void {
  if (prices !== undefined && dryRun !== true)
    throw new CliError(
      `--prices: got ${JSON.stringify(prices)} without --dry-run; \`genenv report\` says what a run has cost`,
      exitCodes.badInput,
    );
}

/** A command about one run. */
export const addRunCommand = (
  { program }: CommandParts,
  name: string,
  description: string,
  examples: string,
): Command =>
  program
    .command(name)
    .description(description)
    .argument('<run>', 'id of the run')
    .addHelpText('after', `\nExamples:\n${examples}`);

/** Collects an option that may be given several times. */
export const collectOption = (text: string, collected: string[]): string[] => [...collected, text];

/** @throws CliError if an id cannot be one of its kind */
export function requireId(id: string, pattern: RegExp, rule: string): void {
  if (!pattern.test(id)) throw new CliError(`--id: got ${JSON.stringify(id)}; ${rule}`, exitCodes.badInput);
}

/** Reads an option that takes a whole number. @throws CliError */
export const parseWholeNumber =
  (flag: string, min: number, max = Infinity) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isInteger(value) || value < min || value > max)
      throw new CliError(
        `${flag}: got ${JSON.stringify(text)}; expected a whole number ` +
          (max === Infinity ? `of ${min} or more` : `from ${min} to ${max}`),
        exitCodes.badInput,
      );
    return value;
  };

/** `difficulty.alpha=0.4` as a field and its value: JSON if it is valid JSON, else text. @throws CliError */
export function parseAssignments(texts: readonly string[]): FieldValues {
  return Object.fromEntries(texts.map(parseAssignment));
}

function parseAssignment(text: string): [string, unknown] {
  const equalsSign = text.indexOf('=');
  if (equalsSign < 1)
    throw new CliError(
      `got ${JSON.stringify(text)}; expected key=value, such as difficulty.alpha=0.4`,
      exitCodes.badInput,
    );
  return [text.slice(0, equalsSign).trim(), parseValue(text.slice(equalsSign + 1).trim())];
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
