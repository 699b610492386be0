export { experiment } from './experiment.ts';
export { epoch } from './epoch.ts';
export { comparison } from './comparison.ts';
export { nightly } from './nightly.ts';
