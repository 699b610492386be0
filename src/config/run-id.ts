export { runIdPattern, runIdRule } from '../validation/run-id.ts';
