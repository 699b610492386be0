import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { dashboard } from './dashboard.ts';
import { evaluations } from './evaluations.ts';
import { growth, growthInBucket } from './growth.ts';
import { llm } from './llm.ts';
import { orchestration } from './orchestration.ts';
import { runPython } from './python.ts';
import { rollouts } from './rollouts.ts';
import { telemetry } from './telemetry.ts';
import { verdicts } from './verdicts.ts';

/**
 * `npm run bench [-- <section> …]`: measures, prints ratios and writes bench/results.json. Ratios compare
 * what ran side by side in this run.
 */

const sections: Record<string, () => Promise<Record<string, unknown>> | Record<string, unknown>> = {
  orchestration,
  rollouts,
  growth,
  'growth-bucket': growthInBucket,
  verdicts,
  evaluations,
  dashboard,
  telemetry,
  'policy-server': () => runPython('policy_server.py'),
  'grpo-step': () => runPython('grpo_step.py'),
  llm,
};

const chosen = process.argv.slice(2).length > 0 ? process.argv.slice(2) : Object.keys(sections);
const unknown = chosen.find((name) => !(name in sections));
if (unknown !== undefined) {
  console.error(`bench: got ${JSON.stringify(unknown)}; sections: ${Object.keys(sections).join(', ')}`);
  process.exit(2);
}
const file = fileURLToPath(new URL('results.json', import.meta.url));
const results = ((): Record<string, unknown> => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
})();
for (const name of chosen) {
  console.log(`== ${name}`);
  const measured = await sections[name]!();
  results[name] = measured;
  console.log(JSON.stringify(measured, null, 2));
  writeFileSync(file, `${JSON.stringify({ ...results, cores: cpus().length }, null, 2)}\n`);
}
console.log(`written to ${file}`);
