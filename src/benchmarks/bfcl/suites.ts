import type { CaseVerdict, Missing, OpenSuite, Suite } from '../suite.ts';
import { accuracy, turnSuccess } from './aggregate.ts';
import type { Detail } from './aggregate.ts';
import { bfclCategories, ruleOf, suiteName } from './categories.ts';
import type { CategoryName } from './categories.ts';
import { episode, independentTurns, singleTurn } from './conversation.ts';
import type { BfclResponse } from './conversation.ts';
import { BfclEngine } from './engine.ts';
import type { BfclCase, RawVerdict, RecordedAnswer } from './engine.ts';

type BfclSuite = Suite<BfclCase, BfclResponse>;

/**
 * What this project decides about verdicts: how answers are decoded, and what may run. Raised with every
 * change to it.
 */
const rules = '2';

/** How this project asks, with what the official code writes. Raised with every change to it. */
const asking = '1';

/** Episodes at a time: each has a process of its own, and may take half a minute. */
const judgedTogether = 8;

/** A category by the official rules. */
export function categorySuite(category: CategoryName): BfclSuite {
  const { kind, about } = bfclCategories[category];
  return suite(suiteName(category), about, category, (engine, toolFormat) => ({
    ...(kind === 'multi_turn' && { judgedTogether }),
    attempt: (item, tools) =>
      kind === 'multi_turn' ? episode(engine, item, tools) : singleTurn(item, tools),
    async judge(answered, signal) {
      const verdicts = await engine.judge(
        answered.map(({ item, response }) => ({ id: item.id, turns: response.turns })),
        signal,
      );
      return verdicts.map((verdict, index) =>
        caseVerdict(ruleOf[kind], ifRead(answered[index]!.response.turns.flat(), verdict)),
      );
    },
    scores: (verdicts) => accuracy(category, toolFormat, verdicts),
  }));
}

/** A multi-turn category turn by turn: the setting that GenEnv's paper seems to use. */
export function byTurnSuite(category: CategoryName): BfclSuite {
  return suite(
    `${suiteName(category)}_by_turn`,
    `${bfclCategories[category].about}, each turn on its own after the truth of those before it`,
    category,
    (engine, toolFormat) => ({
      judgedTogether,
      attempt: (item, tools) => independentTurns(engine, item, tools),
      async judge(answered, signal) {
        const turns = answered.flatMap(({ item, response }) =>
          item.turns.map((_, index) => ({
            id: item.id,
            turns: [...item.gold.slice(0, index), response.turns[index] ?? []],
          })),
        );
        const verdicts = (await engine.judgeTurns(turns, signal)).map((verdict, index) =>
          ifRead(turns[index]!.turns.at(-1)!, verdict),
        );
        return answered.map(({ item }) => turnsVerdict(verdicts.splice(0, item.turns.length)));
      },
      scores: (verdicts) => turnSuccess(category, toolFormat, verdicts),
    }),
  );
}

/** A category that is listed and cannot run. */
export function unavailableSuite(category: CategoryName, missing: string): BfclSuite {
  return {
    name: suiteName(category),
    about: bfclCategories[category].about,
    refuses: () => null,
    open: () => Promise.resolve({ missing }),
  };
}

type Rules = Pick<OpenSuite<BfclCase, BfclResponse>, 'attempt' | 'judgedTogether' | 'judge' | 'scores'>;

function suite(
  name: string,
  about: string,
  category: CategoryName,
  rulesOf: (engine: BfclEngine, toolFormat: string) => Rules,
): BfclSuite {
  return {
    name,
    about,
    refuses: () => null,
    async open({ enginePython }, { toolFormat }): Promise<OpenSuite<BfclCase, BfclResponse> | Missing> {
      const python = await enginePython('bfcl');
      if (python === null)
        return {
          missing:
            'the official code of BFCL is not installed: run `node infra/setup/setup.mjs --engines bfcl`',
        };
      const engine = await BfclEngine.open(python, category, toolFormat);
      if ('missing' in engine) return engine;
      const { cases, dataHash, version } = engine.described;
      return {
        cases,
        dataHash,
        asking: `bfcl-eval ${version}, ${asking}`,
        versions: { bfcl_eval: version, bfcl_rules: rules },
        ...rulesOf(engine, toolFormat),
        gold: ({ gold }) => ({ turns: gold }),
        close: () => engine.close(),
      };
    },
  };
}

/** A question that the policy could not read is wrong, though no call may be what was wanted. */
const ifRead = (answers: readonly RecordedAnswer[], verdict: RawVerdict): RawVerdict =>
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
  const right = turns.filter(({ valid }) => valid).length;
  return {
    correct: right === turns.length,
    scores: { turn_success: right / turns.length },
    reason: turns.find(({ valid }) => !valid)?.reason ?? null,
    detail: turns.map(({ valid }) => valid),
  };
}
