import { fileURLToPath } from 'node:url';
import type { BundleOptions } from '@temporalio/worker';

const path = (name: string): string => fileURLToPath(new URL(`../workflows/${name}`, import.meta.url));

/**
 * What the code of the workflows is bundled from.
 * @param more interceptors, which run inside the one that checks inputs
 */
export const workflowSources = (more: readonly string[] = []) =>
  ({
    workflowsPath: path('index.ts'),
    workflowInterceptorModules: [path('interceptors.ts'), ...more],
  }) satisfies BundleOptions;
