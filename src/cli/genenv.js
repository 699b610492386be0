#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// `npx genenv` may run under an older Node, which does not run TypeScript: hand over to the one in
// node_modules.
const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url));
if (!existsSync(node)) {
  console.error(
    'genenv: node_modules is not complete; run `node infra/setup/setup.mjs` in the repository first',
  );
  process.exit(1);
}
const child = spawn(node, [fileURLToPath(new URL('genenv.ts', import.meta.url)), ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// Ctrl-C reaches both processes: only the one that does the work answers. SIGTERM reaches this one alone.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGKILL' ? 137 : 143)));
