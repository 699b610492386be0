// @ts-check
import { engineStep } from './engine-steps.mjs';
import { engines, isEngine } from './locations.mjs';
import { nodePackages } from './node-packages.mjs';
import { pythonPackages } from './python-environment.mjs';
import { runSteps } from './steps.mjs';
import { temporalExecutable } from './temporal-executable.mjs';

// Plain JavaScript on purpose: this runs on Node 20 in a fresh clone, before anything is installed.
const args = process.argv.slice(2);
const quiet = args.includes('--quiet');
const steps = [nodePackages, pythonPackages, temporalExecutable];
for (let index = 0; index < args.length; index++) {
  if (args[index] === '--quiet') continue;
  if (args[index] !== '--engines')
    refuse(
      `unknown argument ${JSON.stringify(args[index])}; allowed: --quiet (print only what is not ready yet), --engines ${Object.keys(engines).join(',')} (\`npm run engines\` says what these are)`,
    );
  for (const name of args[++index]?.split(',') ?? ['']) {
    if (!isEngine(name))
      refuse(`unknown engine ${JSON.stringify(name)}; allowed: ${Object.keys(engines).join(', ')}`);
    else steps.push(engineStep(name));
  }
}
const ready = await runSteps(steps, { quiet, print: (line) => console.error(line) });
process.exitCode = ready ? 0 : 1;

/** @param {string} why */
function refuse(why) {
  console.error(`setup: ${why}`);
  process.exit(2);
}
