// @ts-check
import { spawn } from 'node:child_process';

const MAX_SHOWN = 20_000;

/** A command that failed, with the end of what it printed. */
export class CommandFailed extends Error {
  /**
   * @param {string} command
   * @param {string} reason
   * @param {string} output
   */
  constructor(command, reason, output) {
    super(withoutCredentials(`\`${command}\` ${reason}${output ? `:\n${indent(output)}` : ''}`));
  }
}

/**
 * Runs a command quietly and gives its standard output; a failure has the end of standard error too.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string | undefined>, cwd?: string, timeoutSeconds?: number }} [options]
 * @returns {Promise<string>}
 */
export function run(command, args, { env, cwd, timeoutSeconds } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(timeoutSeconds === undefined ? {} : { timeout: timeoutSeconds * 1000, killSignal: 'SIGKILL' }),
    });
    let printed = '';
    let answer = '';
    const keep = (/** @type {Buffer} */ chunk) => (printed = (printed + chunk.toString()).slice(-MAX_SHOWN));
    child.stdout.on('data', keep);
    child.stdout.on('data', (/** @type {Buffer} */ chunk) => (answer += chunk.toString()));
    child.stderr.on('data', keep);
    const shown = [command, ...args].join(' ');
    child.on('error', (error) =>
      reject(new CommandFailed(shown, `could not be started (${error.message})`, '')),
    );
    child.on('close', (code, signal) => {
      if (code === 0) resolve(answer);
      else
        reject(
          new CommandFailed(
            shown,
            signal ? `was ended by ${signal}` : `ended with exit code ${code}`,
            telling(printed, 12),
          ),
        );
    });
  });
}

/**
 * The lines that say what is wrong: from the first that speaks of an error, else the last.
 * @param {string} text
 * @param {number} count
 */
function telling(text, count) {
  const lines = text.trimEnd().split('\n');
  const first = lines.findIndex((line) => /\berror\b/i.test(line));
  return (first === -1 ? lines.slice(-count) : lines.slice(first, first + count)).join('\n');
}
/** @param {string} text */
const indent = (text) => text.replace(/^/gm, '    ');

/**
 * Addresses of package indexes may hold a user and a password.
 * @param {string} text
 */
const withoutCredentials = (text) => text.replace(/(:\/\/)[^\s/@]+@/g, '$1***@');
