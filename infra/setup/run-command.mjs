// @ts-check
import { spawn } from 'node:child_process';

/** A command that failed, with the end of what it printed. */
export class CommandFailed extends Error {
  /**
   * @param {string} command
   * @param {string} reason
   * @param {string} output
   */
  constructor(command, reason, output) {
    super(`\`${command}\` ${reason}${output ? `:\n${indent(output)}` : ''}`);
  }
}

/**
 * Runs a command quietly and gives what it printed.
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
    let output = '';
    const keep = (/** @type {Buffer} */ chunk) => (output = (output + chunk.toString()).slice(-20_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const shown = [command, ...args].join(' ');
    child.on('error', (error) =>
      reject(new CommandFailed(shown, `could not be started (${error.message})`, '')),
    );
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output);
      else
        reject(
          new CommandFailed(
            shown,
            signal ? `was ended by ${signal}` : `ended with exit code ${code}`,
            telling(output, 12),
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
