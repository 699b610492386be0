// @ts-check
import { performance } from 'node:perf_hooks';

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} doing What it is about to do, for a person who waits.
 * @property {() => Promise<boolean>} ready Whether there is nothing to do.
 * @property {(say: (text: string) => void) => Promise<void>} run
 * @property {string} remedy What to do when it fails.
 */

/**
 * Runs the steps one after the other, says what each did and how long it took, and stops at the first that
 * fails.
 * @param {Step[]} steps
 * @param {{ quiet: boolean, print: (line: string) => void }} output
 * @returns {Promise<boolean>} whether all are ready
 */
export async function runSteps(steps, { quiet, print }) {
  const width = Math.max(...steps.map((step) => step.name.length)) + 2;
  for (const step of steps) {
    const name = step.name.padEnd(width);
    const begun = performance.now();
    const seconds = () => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
    try {
      if (await step.ready()) {
        if (!quiet) print(`${name}skipped (ready)`);
        continue;
      }
      print(`${name}${step.doing} ...`);
      await step.run((text) => print(`${name}${text}`));
      print(`${name}ready in ${seconds()}`);
    } catch (error) {
      print(`${name}failed after ${seconds()}: ${error instanceof Error ? error.message : String(error)}`);
      print(`What to do: ${step.remedy}.`);
      return false;
    }
  }
  return true;
}
