export { experiment } from './experiment.ts';
export { epoch } from './epoch.ts';
export { nightly } from './nightly.ts';
