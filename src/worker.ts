import { parseArgs } from 'node:util';
import { setFileMask } from './config/file-mode.ts';
import { keepHeapSmall, runWorker } from './worker/run-worker.ts';
import { workerSettings } from './worker/settings.ts';

/**
 * `npm run worker [-- --queues workflows,llm,cpu,gpu]`: serves those queues of any Temporal (envconfig:
 * address, namespace, TLS, API key, profiles).
 */
keepHeapSmall();
setFileMask(process.env.GENENV_UMASK);
const { values } = parseArgs({ options: { queues: { type: 'string' } } });
await runWorker(workerSettings(process.env, values.queues), process.env);
