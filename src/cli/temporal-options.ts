import type { Command } from 'commander';

export interface TemporalOptions {
  address?: string;
  namespace?: string;
  profile?: string;
}

/** The options that name another Temporal server than the embedded one. */
export const withTemporal = (
  command: Command,
  address = 'ask this Temporal server instead of the embedded one',
): Command =>
  command
    .option('--address <host:port>', address)
    .option('--namespace <name>', 'namespace on that server')
    .option('--profile <name>', 'profile of the Temporal configuration file');
