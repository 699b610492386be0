import { existsSync } from 'node:fs';
import { pythonPath, repository, temporalPath } from '../../../infra/setup/locations.mjs';
import { embeddedServices, EmbeddedStack } from '../../dev-stack/dev-stack.ts';
import { stackPaths } from '../../dev-stack/record.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../exit-codes.ts';

/**
 * The embedded stack of this home, with what set-up installed.
 * @throws StackInUse, CliError where set-up is not done
 */
export function ownStack(context: CliContext, command: 'run' | 'up'): EmbeddedStack {
  const { env } = context;
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
  const paths = stackPaths(homeFolder(env));
  return new EmbeddedStack({
    paths,
    command,
    cwd: repository,
    services: (ports) =>
      embeddedServices({ node: process.execPath, python, temporal, repository, env }, paths, ports),
    say: context.print,
  });
}
