import { temporalPath } from '../../infra/setup/locations.mjs';
import { EmbeddedStack } from '../../src/dev-stack/dev-stack.ts';
import { STACK_MARK } from '../../src/dev-stack/leftovers.ts';
import { stackPaths } from '../../src/dev-stack/record.ts';
import { TemporalServer } from '../../src/dev-stack/services/temporal-server.ts';
import { HttpService } from './http-service.ts';

/**
 * A stack of the real Temporal server and two small services, in a process of its own that tests may kill.
 */
const [home = '', workerScript = ''] = process.argv.slice(2);
const paths = stackPaths(home);
const env = { ...process.env, [STACK_MARK]: home };
const stack = new EmbeddedStack({
  paths,
  command: 'run',
  cwd: home,
  say: (line) => console.log(line),
  services: (ports) => {
    const server = new TemporalServer(temporalPath(), paths, env, { ports, hasUi: true });
    const addresses = () => ({
      temporal: server.address,
      namespace: server.namespace,
      ui: server.ui,
      policyServer: '',
      trainerSocket: '',
      vllm: null,
    });
    return {
      stages: [
        [server, new HttpService('trainer', ports, env)],
        [new HttpService('worker', ports, env, workerScript)],
      ],
      addresses,
    };
  },
});
process.on('SIGTERM', () => void stack.stop().then(() => process.exit(0)));
void stack.givenUp.then(async (error) => {
  console.log(`given up: ${error.message}`);
  await stack.stop();
  process.exit(1);
});
try {
  await stack.start();
  console.log('up');
} catch (error) {
  console.log(`failed: ${(error as Error).message}`);
  await stack.stop();
  process.exit(1);
}
setInterval(() => undefined, 1_000);
