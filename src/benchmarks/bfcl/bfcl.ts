import type { Benchmark, CaseVerdict, Missing, OpenSuite, Suite } from '../suite.ts';
import { accuracy, aggregate, turnSuccess } from './aggregate.ts';
import type { Detail, TurnDetail } from './aggregate.ts';
import { bfclCategories, ruleNames, suiteName } from './categories.ts';
import type { CategoryName } from './categories.ts';
import { runEpisode, runIndependentTurns, runSingleTurn } from './conversation.ts';
import type { BfclResponse } from './conversation.ts';
import { BfclEngine } from './engine.ts';
import type { BfclCase, RawVerdict, RecordedAnswer } from './engine.ts';

type BfclSuite = Suite<BfclCase, BfclResponse>;

/**
 * Version of this project's verdicts: how answers are decoded, and what may run. Raised with every change.
 */
const rulesVersion = '3';

/** Version of this project's prompts. Raised with every change. */
const promptVersion = '1';

/** Episodes in one call of `judge`: each has its own process and may take half a minute. */
const judgeBatchSize = 8;

/** A category by the official rules. */
export function categorySuite(category: CategoryName): BfclSuite {
  const { kind, about } = bfclCategories[category];
  return createSuite(suiteName(category), about, category, (engine, toolFormat) => ({
    ...(kind === 'multi_turn' && { judgeBatchSize }),
    attempt: (item, tools) =>
      kind === 'multi_turn' ? runEpisode(engine, item, tools) : runSingleTurn(item, tools),
    async judge(answered, signal) {
      const verdicts = await engine.judge(
        answered.map(({ item, response }) => ({ id: item.id, turns: response.turns })),
        signal,
      );
      return verdicts.map((verdict, index) =>
        caseVerdict(ruleNames[kind], unlessUnread(answered[index]!.response.turns.flat(), verdict)),
      );
    },
    scores: (verdicts) => accuracy(category, toolFormat, verdicts),
  }));
}

/** A multi-turn category turn by turn: the setting that GenEnv's paper seems to use. */
export function byTurnSuite(category: CategoryName): BfclSuite {
  return createSuite(
    `${suiteName(category)}_by_turn`,
    `${bfclCategories[category].about}, each turn on its own after the truth of those before it`,
    category,
    (engine, toolFormat) => ({
      judgeBatchSize,
      attempt: (item, tools) => runIndependentTurns(engine, item, tools),
      async judge(answered, signal) {
        const turns = answered.flatMap(({ item, response }) =>
          item.turns.map((_, index) => ({
            id: item.id,
            turns: [...item.gold.slice(0, index), response.turns[index] ?? []],
          })),
        );
        const verdicts = (await engine.judgeTurns(turns, signal)).map((verdict, index) =>
          unlessUnread(turns[index]!.turns.at(-1)!, verdict),
        );
        return answered.map(({ item }) => turnsVerdict(verdicts.splice(0, item.turns.length)));
      },
      scores: (verdicts) => turnSuccess(category, toolFormat, verdicts),
    }),
  );
}

/** A category that is listed but cannot run. */
export function unavailableSuite(category: CategoryName, missing: string): BfclSuite {
  return {
    name: suiteName(category),
    about: bfclCategories[category].about,
    refuses: () => null,
    open: () => Promise.resolve({ missing }),
  };
}

type Rules = Pick<OpenSuite<BfclCase, BfclResponse>, 'attempt' | 'judgeBatchSize' | 'judge' | 'scores'>;

function createSuite(
  name: string,
  about: string,
  category: CategoryName,
  createRules: (engine: BfclEngine, toolFormat: string) => Rules,
): BfclSuite {
  return {
    name,
    about,
    refuses: () => null,
    async open(
      { enginePython },
      { toolFormat },
      signal,
    ): Promise<OpenSuite<BfclCase, BfclResponse> | Missing> {
      const python = await enginePython('bfcl');
      if (python === null)
        return {
          missing: 'the official code of BFCL is not installed: run `npm run engines -- bfcl`',
        };
      const engine = await BfclEngine.open({ python, category, toolFormat }, signal);
      if ('missing' in engine) return engine;
      const { cases, dataHash, version } = engine.data;
      return {
        cases,
        dataHash,
        promptVersion: `bfcl-eval ${version}, ${promptVersion}`,
        versions: { bfcl_eval: version, bfcl_rules: rulesVersion },
        ...createRules(engine, toolFormat),
        gold: ({ gold }) => ({ turns: gold }),
        close: () => engine.close(),
      };
    },
  };
}

/** A question too long for the policy is wrong, even if no call was expected. */
const unlessUnread = (answers: readonly RecordedAnswer[], verdict: RawVerdict): RawVerdict =>
  answers.some(({ unread }) => unread) ? { valid: false, reason: 'prompt_too_long', error: null } : verdict;

function caseVerdict(rule: string, { valid, reason, error, converted = false }: RawVerdict): CaseVerdict {
  return {
    correct: valid,
    scores: { [rule]: valid ? 1 : 0 },
    reason,
    detail: { error, converted } satisfies Detail,
  };
}

function turnsVerdict(turns: readonly RawVerdict[]): CaseVerdict {
  const correctTurns = turns.filter(({ valid }) => valid).length;
  return {
    correct: correctTurns === turns.length,
    scores: { turn_success: correctTurns / turns.length },
    reason: turns.find(({ valid }) => !valid)?.reason ?? null,
    detail: turns.map(({ valid, converted = false }) => ({ valid, converted })) satisfies TurnDetail[],
  };
}

/** Why the agentic categories cannot run: their backends need network or files, which the sandbox denies. */
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
