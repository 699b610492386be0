/** Workflows of this project's types that only wait, as interrupted ones do. */
import { condition, executeChild } from '@temporalio/workflow';

const wait = (): Promise<void> => condition(() => false);

export const experiment = wait;
export const evaluation = wait;
export const nightly = wait;
export const elsewhere = wait;

/** Runs experiments as its parts. */
export async function comparison(runs: string[]): Promise<void> {
  await Promise.all(runs.map((workflowId) => executeChild('experiment', { workflowId })));
}
