import { hashOf } from '../../src/store/canonical-json.ts';
import type { PhaseKey } from '../../src/store/phase-cache.ts';

export const someKey = (over: Partial<PhaseKey> = {}): PhaseKey => ({
  experiment: 'night-1',
  epoch: 7,
  phase: 'train-agent',
  inputHash: hashOf('input'),
  ...over,
});
