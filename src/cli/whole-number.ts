import { CliError, exitCodes } from './exit-codes.ts';

/** Reads an option that takes a whole number. @throws CliError */
export const parseWholeNumber =
  (flag: string, least: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < least)
      throw new CliError(
        `${flag}: got ${JSON.stringify(text)}; expected a whole number of ${least} or more`,
        exitCodes.badInput,
      );
    return value;
  };
