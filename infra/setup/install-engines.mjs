// @ts-check
import { engineReady, engineSize, engineStep } from './engine-steps.mjs';
import { engineFolder, engines, isEngine } from './locations.mjs';
import { nodePackages } from './node-packages.mjs';
import { pythonPackages } from './python-environment.mjs';
import { runSteps } from './steps.mjs';
import { temporalExecutable } from './temporal-executable.mjs';

/** `npm run engines -- NAME...`: installs what is needed only by those who ask for it; without names, says what there is. */
const names = process.argv.slice(2).flatMap((word) => word.split(','));
const all = /** @type {import('./locations.mjs').Engine[]} */ (Object.keys(engines));
const unknown = names.find((name) => !isEngine(name));
if (unknown !== undefined) {
  console.error(`engines: got ${JSON.stringify(unknown)}; allowed: ${all.join(', ')}`);
  process.exitCode = 2;
} else if (names.length === 0) {
  for (const engine of all) {
    const state = (await engineReady(engine)) ? `installed: ${engineFolder(engine)}` : 'not installed';
    console.log(
      `${engine.padEnd(17)}${engines[engine].what}\n${''.padEnd(17)}${engineSize(engine)}; ${state}`,
    );
  }
  console.log('\nTo install some: npm run engines -- smollm2 vllm');
} else {
  const wanted = all.filter((engine) => names.includes(engine));
  for (const engine of wanted)
    if (!(await engineReady(engine)))
      console.error(`${engine}: ${engines[engine].what}, ${engineSize(engine)}`);
  const steps = [nodePackages, pythonPackages, temporalExecutable, ...wanted.map(engineStep)];
  const ready = await runSteps(steps, { quiet: false, print: (line) => console.error(line) });
  process.exitCode = ready ? 0 : 1;
}
