import type { SuiteLoader } from '../benchmarks/suite-loader.ts';
import type { RequireModelFolder } from '../config/permitted-folders.ts';
import type { ModelClients } from '../inference/model-clients.ts';
import type { Quotas } from '../runs/quotas.ts';
import type { RunFolders } from '../runs/result-folders.ts';
import type { HasActivityContext, PhaseStorage } from '../runtime/dependencies.ts';
import type { TrainingBackend } from '../training/run-job.ts';

/**
 * Everything that activities reach the world through; the composition root (`worker/dependencies.ts`) makes
 * it. A helper takes only the capabilities that it uses.
 */
export interface Dependencies
  extends PhaseStorage, HasActivityContext, ModelClients, RunFolders, TrainingBackend {
  suites: SuiteLoader;
  requireModelFolder: RequireModelFolder;
  /** What each run may use on this worker. */
  quotas: Quotas;
  /** Whether the search attributes are registered in the namespace. */
  searchAttributes: boolean;
}
