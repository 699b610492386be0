import type { Benchmark } from '../suite.ts';
import { apiBankDamoLevel1, apiBankDamoLevel2 } from './damo-suite.ts';
import { apiBankToolRl } from './toolrl-suite.ts';

/** API-Bank (Li et al., arXiv 2304.08244): calls of APIs in dialogues. */
export const apiBank: Benchmark = {
  name: 'api-bank',
  suites: [apiBankToolRl, apiBankDamoLevel1, apiBankDamoLevel2],
};
