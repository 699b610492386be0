import type { TrainingReport } from '../training/run-job.ts';
import type { Metrics } from './metrics.ts';

/** Records what training jobs report. */
export function recordTraining(metrics: Metrics, { kind, newSteps, gpuMemoryBytes }: TrainingReport): void {
  metrics.optimizerSteps.inc({ kind }, newSteps);
  metrics.trainingGpuBytes.set(gpuMemoryBytes);
}
