import { parseArgs } from 'node:util';
import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { runWorker } from '../src/worker/run-worker.ts';
import { workerSettings } from '../src/worker/settings.ts';
import { armedFaults } from './armed-faults.ts';

/**
 * The worker, with one fault: `GENENV_TEST_FAULT=<signal>:<activity>:<epoch>:<when>`, where <when> is
 * `before` (as the activity begins), `stuck` (it never comes back), `<n>ms` (that long after), `after` (its
 * work is done, its answer not yet reported), or `lost` (done, then reported as failed, once, with the
 * message `GENENV_TEST_FAULT_MESSAGE`). Or with the faults that a test arms in the folder
 * `GENENV_TEST_FAULTS` (armed-faults.ts).
 */
const [signal, activity, epoch, when] = (process.env.GENENV_TEST_FAULT ?? '').split(':');
let armed = true;

const strike = (): void => {
  armed = false;
  console.log(`fault: ${process.env.GENENV_TEST_FAULT ?? ''}`);
  if (signal) process.kill(process.pid, signal);
};

const faults = ({ info }: Context): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    async execute(input, next) {
      const meant =
        armed &&
        info.activityType === activity &&
        (input.args[0] as { epoch?: number }).epoch === Number(epoch);
      if (!meant) return next(input);
      if (when === 'before') strike();
      if (when === 'stuck') {
        strike();
        await new Promise(() => undefined);
      }
      if (when?.endsWith('ms')) setTimeout(strike, Number(when.slice(0, -2)));
      const result = await next(input);
      if (when === 'after') strike();
      if (when === 'lost') {
        armed = false;
        throw new Error(process.env.GENENV_TEST_FAULT_MESSAGE ?? 'the answer was lost');
      }
      return result;
    },
  },
});

const { values } = parseArgs({ options: { queues: { type: 'string' } } });
const folder = process.env.GENENV_TEST_FAULTS;
const settings = workerSettings(process.env, values.queues);
await runWorker(settings, process.env, {
  activityInterceptors: [
    ...(activity ? [faults] : []),
    ...(folder === undefined ? [] : [armedFaults(folder, settings.home)]),
  ],
});
