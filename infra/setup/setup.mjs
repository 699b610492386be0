// @ts-check
import { nodePackages } from './node-packages.mjs';
import { pythonPackages } from './python-environment.mjs';
import { runSteps } from './steps.mjs';
import { temporalExecutable } from './temporal-executable.mjs';

// Plain JavaScript on purpose: this runs on Node 20 in a fresh clone, before anything is installed.
const unknown = process.argv.slice(2).filter((argument) => argument !== '--quiet');
if (unknown.length > 0) {
  console.error(`setup: unknown argument ${JSON.stringify(unknown[0])}; allowed: --quiet (print only what is not ready yet)`);
  process.exit(2);
}
const quiet = process.argv.includes('--quiet');
const ready = await runSteps([nodePackages, pythonPackages, temporalExecutable], { quiet, print: (line) => console.error(line) });
process.exitCode = ready ? 0 : 1;
