import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { engineFolder, pythonPath, repository, temporalPath } from '../../../infra/setup/locations.mjs';
import { closeFolder } from '../../config/file-mode.ts';
import { embeddedServices, EmbeddedStack } from '../../dev-stack/dev-stack.ts';
import { readStackRecord, stackPaths } from '../../dev-stack/record.ts';
import type { StackRecord } from '../../dev-stack/record.ts';
import type { StackNeeds } from '../../dev-stack/stack-needs.ts';
import { isAlive } from '../../runtime/process-identity.ts';
import { CliError, homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { clientOptions } from './client-options.ts';
import { endInterrupted } from './end-interrupted.ts';
import { interruptedNeeds } from './needs.ts';

/**
 * The embedded stack of this home, with what set-up installed.
 * @throws StackInUse, CliError if set-up is not done
 */
export function createStack(
  context: CliContext,
  command: 'run' | 'up',
  {
    needs,
    own,
    only = false,
    ui = false,
  }: { needs: StackNeeds; own: string | null; only?: boolean; ui?: boolean },
): EmbeddedStack {
  const { env } = context;
  const home = homeFolder(env);
  closeFolder(home);
  const [python, temporal] = [pythonPath(), temporalPath()];
  for (const [what, path] of Object.entries({
    'Python environment': python,
    'Temporal executable': temporal,
  })) {
    if (!existsSync(path))
      throw new CliError(
        `${what}: ${path} is not there; run \`node infra/setup/setup.mjs\` in ${repository}`,
      );
  }
  const paths = stackPaths(home);
  const vllmPython = join(engineFolder('vllm'), 'bin', 'python');
  const programs = { node: process.execPath, python, temporal, vllmPython, repository, env };
  return new EmbeddedStack({
    paths,
    command,
    cwd: repository,
    services: (ports, secrets) =>
      embeddedServices(
        programs,
        paths,
        { ports, secrets },
        {
          needs,
          hasUi: ui,
          moreNeeds: async ({ address, namespace }) => {
            const server = { address, namespace, options: await clientOptions(env) };
            if (own === null || !only)
              return interruptedNeeds(server, { own, needs, home, say: context.print });
            await endInterrupted(server, own, context.print);
            return needs;
          },
        },
      ),
    say: context.print,
  });
}

export type OwnedStackRecord = StackRecord & { owner: NonNullable<StackRecord['owner']> };

/** The record of this home's stack, if its owner process is alive. */
export function runningStack(home: string): OwnedStackRecord | null {
  const record = readStackRecord(stackPaths(home).record);
  return record.owner !== null && isAlive(record.owner) ? { ...record, owner: record.owner } : null;
}

/** Waits until the stack that another process starts is ready; null if that process ends first. */
export async function waitForStack(home: string, stop?: AbortSignal): Promise<OwnedStackRecord | null> {
  for (;;) {
    const record = runningStack(home);
    if (record === null || record.state === 'ready') return record;
    if (stop?.aborted === true) return null;
    await sleep(200);
  }
}

/** Starts `genenv up --foreground` as a process of its own, which outlives this one. */
export function startSupervisor(
  home: string,
  env: NodeJS.ProcessEnv,
  args: readonly string[],
): { child: ChildProcess; log: string } {
  const { logs } = stackPaths(home);
  mkdirSync(logs, { recursive: true });
  const log = join(logs, 'supervisor.log');
  const output = openSync(log, 'w');
  const command = fileURLToPath(new URL('../genenv.ts', import.meta.url));
  const child = spawn(process.execPath, [command, 'up', ...args, '--foreground'], {
    detached: true,
    stdio: ['ignore', output, output],
    env,
  });
  closeSync(output);
  child.unref();
  return { child, log };
}
