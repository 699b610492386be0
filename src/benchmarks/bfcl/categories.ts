/** How a category is judged: calls by syntax tree, calls or none, or the state of simulated services. */
export type Kind = 'ast' | 'detection' | 'multi_turn' | 'agentic';

export interface BfclCategory {
  readonly kind: Kind;
  /** Cases in the official data: the weight of categories that did not run. */
  readonly cases: number;
  readonly about: string;
}

/** All categories of the official v4 table, by their official names. */
export const bfclCategories = {
  simple_python: { kind: 'ast', cases: 400, about: 'one function, one call' },
  simple_java: { kind: 'ast', cases: 100, about: 'one Java function, one call' },
  simple_javascript: { kind: 'ast', cases: 50, about: 'one JavaScript function, one call' },
  multiple: { kind: 'ast', cases: 200, about: 'several functions, one call' },
  parallel: { kind: 'ast', cases: 200, about: 'one function, several calls' },
  parallel_multiple: { kind: 'ast', cases: 200, about: 'several functions, several calls' },
  irrelevance: { kind: 'detection', cases: 240, about: 'no function fits: right without a call' },
  live_simple: { kind: 'ast', cases: 258, about: "users' own: one function, one call" },
  live_multiple: { kind: 'ast', cases: 1053, about: "users' own: several functions, one call" },
  live_parallel: { kind: 'ast', cases: 16, about: "users' own: one function, several calls" },
  live_parallel_multiple: { kind: 'ast', cases: 24, about: "users' own: several functions, several calls" },
  live_irrelevance: {
    kind: 'detection',
    cases: 884,
    about: "users' own: no function fits, right without a call",
  },
  live_relevance: { kind: 'detection', cases: 16, about: "users' own: right with any call" },
  multi_turn_base: { kind: 'multi_turn', cases: 200, about: 'several turns over simulated services' },
  multi_turn_miss_func: {
    kind: 'multi_turn',
    cases: 200,
    about: 'several turns, a function comes only later',
  },
  multi_turn_miss_param: {
    kind: 'multi_turn',
    cases: 200,
    about: 'several turns, a parameter comes only later',
  },
  multi_turn_long_context: {
    kind: 'multi_turn',
    cases: 200,
    about: 'several turns over services with much in them',
  },
  web_search_base: { kind: 'agentic', cases: 100, about: 'questions for a search engine' },
  web_search_no_snippet: {
    kind: 'agentic',
    cases: 100,
    about: 'questions for a search engine that shows no snippets',
  },
  memory_kv: { kind: 'agentic', cases: 155, about: 'questions about earlier talks, with a key-value memory' },
  memory_vector: {
    kind: 'agentic',
    cases: 155,
    about: 'questions about earlier talks, with a vector memory',
  },
  memory_rec_sum: {
    kind: 'agentic',
    cases: 155,
    about: 'questions about earlier talks, with a summary as memory',
  },
} as const satisfies Record<string, BfclCategory>;

export type CategoryName = keyof typeof bfclCategories;

/** The rule's part of a score's name. */
export const ruleNames: Readonly<Record<Kind, string>> = {
  ast: 'ast',
  detection: 'detection',
  multi_turn: 'success',
  agentic: 'success',
};

export const suiteName = (category: CategoryName): string => `bfcl_v4_${category}`;

/** The name of the figure that the official table calls the category's accuracy. */
export const accuracyName = (category: CategoryName, toolFormat: string): string =>
  `${suiteName(category)}_${ruleNames[bfclCategories[category].kind]}_${toolFormat}`;
