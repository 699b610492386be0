import { resolve } from 'node:path';

/** The folder of stack, store and runs: GENENV_HOME, or `.genenv` in the current folder. */
export const homeFolder = ({ GENENV_HOME: home = '' }: NodeJS.ProcessEnv): string =>
  resolve(home === '' ? '.genenv' : home);
