export { experiment } from './experiment.ts';
export { epoch } from './epoch.ts';
export { comparison } from './comparison.ts';
export { evaluation, rescoring } from './evaluation.ts';
export { nightly } from './nightly.ts';
