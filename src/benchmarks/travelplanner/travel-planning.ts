/**
 * What the world Travel shares with this benchmark: its data formats, its prompt and a verdict to train on.
 */
export { findPlan } from './case-verdict.ts';
export { dayFields, MAX_ROUTE_LENGTH } from './data/plan.ts';
export { drivingCost } from './data/sandbox.ts';
export type { Distance, Sandbox } from './data/sandbox.ts';
export type { Query } from './data/task.ts';
export { sandboxFrom } from './data/train-sandbox.ts';
export type { Reference } from './data/train-sandbox.ts';
export { referenceText } from './prompts/data-text.ts';
export { plannerQuestion } from './prompts/planner.ts';
export { queryText } from './query-text.ts';
export { strictVerdict } from './strict/strict-verdict.ts';
