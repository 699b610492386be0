import type { Benchmark } from '../suite.ts';
import { aggregate } from './aggregate.ts';
import { bfclCategories } from './categories.ts';
import type { CategoryName } from './categories.ts';
import { byTurnSuite, categorySuite, unavailableSuite } from './suites.ts';

/**
 * Why the agentic categories are listed only: their backends need what cannot be given to a process without
 * network and files.
 */
const unavailable: Partial<Record<CategoryName, string>> = {
  web_search_base:
    'its official backend asks SerpAPI with a key and reads pages of the open web; run it with the official bfcl-eval',
  web_search_no_snippet:
    'its official backend asks SerpAPI with a key and reads pages of the open web; run it with the official bfcl-eval',
  memory_kv:
    'its official backend keeps its memory in files and searches it with rank_bm25, which the engine has not; run it with the official bfcl-eval',
  memory_vector:
    'its official backend searches with an embedding model (sentence-transformers, faiss), which the engine has not; run it with the official bfcl-eval',
  memory_rec_sum:
    'its official backend keeps its memory in files between conversations; run it with the official bfcl-eval',
};

/** Berkeley Function-Calling Leaderboard, version 4. */
export const bfcl: Benchmark = {
  name: 'bfcl',
  suites: [
    ...(Object.keys(bfclCategories) as CategoryName[]).map((category) => {
      const missing = unavailable[category];
      return missing === undefined ? categorySuite(category) : unavailableSuite(category, missing);
    }),
    byTurnSuite('multi_turn_long_context'),
  ],
  aggregate,
};
