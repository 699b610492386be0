/** The workflows by their type names, which clients, schedules and histories hold. */
export { comparisonWorkflow as comparison } from './comparison.ts';
export { epochWorkflow as epoch } from './epoch.ts';
export { evaluationWorkflow as evaluation, rescoringWorkflow as rescoring } from './evaluation.ts';
export { experimentWorkflow as experiment } from './experiment.ts';
export { nightlyWorkflow as nightly } from './nightly.ts';
