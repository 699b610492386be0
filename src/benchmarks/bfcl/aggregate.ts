import { figureScore, rateScore } from '../suite.ts';
import type { CaseVerdict, Score } from '../suite.ts';
import { accuracyName, bfclCategories, suiteName } from './categories.ts';
import type { CategoryName } from './categories.ts';

interface Part {
  value: number;
  cases: number;
  notRun: readonly string[];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function combineParts(parts: readonly Part[], value: number): Part {
  return {
    value,
    cases: sum(parts.map(({ cases }) => cases)),
    notRun: parts.flatMap(({ notRun }) => notRun),
  };
}

const meanOf = (...parts: Part[]): Part =>
  combineParts(parts, sum(parts.map(({ value }) => value)) / parts.length);

function weightedByCases(...parts: Part[]): Part {
  const correct = sum(parts.map(({ value, cases }) => value * cases));
  return combineParts(parts, correct / sum(parts.map(({ cases }) => cases)));
}

/**
 * The official v4 table: `generate_leaderboard_csv` in bfcl_eval.eval_checker.eval_runner_helper. Categories
 * that did not run count as 0 there too.
 */
function officialTable(category: (name: CategoryName) => Part): Record<string, Part> {
  const simple = meanOf(category('simple_python'), category('simple_java'), category('simple_javascript'));
  const nonLive = meanOf(simple, category('multiple'), category('parallel'), category('parallel_multiple'));
  const live = weightedByCases(
    category('live_simple'),
    category('live_multiple'),
    category('live_parallel'),
    category('live_parallel_multiple'),
  );
  const irrelevance = meanOf(category('irrelevance'), category('live_irrelevance'));
  const multiTurn = meanOf(
    category('multi_turn_base'),
    category('multi_turn_miss_func'),
    category('multi_turn_miss_param'),
    category('multi_turn_long_context'),
  );
  const search = meanOf(category('web_search_base'), category('web_search_no_snippet'));
  const memory = meanOf(category('memory_kv'), category('memory_vector'), category('memory_rec_sum'));
  const agentic = meanOf(search, memory);
  const parts = [nonLive, live, irrelevance, multiTurn, agentic];
  const overall = combineParts(
    parts,
    0.1 * nonLive.value +
      0.1 * live.value +
      0.1 * irrelevance.value +
      0.3 * multiTurn.value +
      0.4 * agentic.value,
  );
  return { non_live: nonLive, live, irrelevance_mean: irrelevance, multi_turn: multiTurn, agentic, overall };
}

/** The table for each tool format that any category ran with. */
export function aggregate(bySuite: ReadonlyMap<string, readonly Score[]>): Score[] {
  return ['prompt', 'native'].flatMap((toolFormat) => {
    let categoriesRun = 0;
    const figures = officialTable((name) => {
      const score = bySuite
        .get(suiteName(name))
        ?.find((candidate) => candidate.name === accuracyName(name, toolFormat));
      if (score === undefined) return { value: 0, cases: bfclCategories[name].cases, notRun: [name] };
      categoriesRun += 1;
      return { value: score.value, cases: score.of, notRun: [] };
    });
    if (categoriesRun === 0) return [];
    return Object.entries(figures).map(([name, { value, cases, notRun }]) => {
      const note =
        notRun.length === 0
          ? undefined
          : `not run, counted as 0 as in the official table: ${notRun.join(', ')}`;
      return figureScore({ name: `bfcl_v4_${name}_${toolFormat}`, value, total: cases, note });
    });
  });
}

type Verdicts = readonly { id: string; verdict: CaseVerdict }[];

/** What a verdict keeps in addition to its scores. */
export interface Detail {
  error: string | null;
  converted: boolean;
}

const REFUSED = 'in <tool_call> or in fenced code with the name of a language';

/**
 * The category's accuracy. If answers were converted that the official decoder would have refused, a second figure
 * counts those as wrong; only in irrelevance such an answer is one without a call, and right.
 */
export function accuracy(category: CategoryName, toolFormat: string, verdicts: Verdicts): Score[] {
  const name = accuracyName(category, toolFormat);
  const isConverted = ({ verdict }: Verdicts[number]): boolean => (verdict.detail as Detail).converted;
  const converted = verdicts.filter(isConverted).length;
  if (converted === 0) return [rateScore(name, correct(verdicts), verdicts.length)];
  const isRightWithoutCall = category.includes('irrelevance');
  const official = verdicts.filter((line) =>
    isConverted(line) ? isRightWithoutCall : line.verdict.correct,
  ).length;
  const isEpisode = bfclCategories[category].kind === 'multi_turn';
  const what = isEpisode ? `episodes with answers ${REFUSED}` : `answers ${REFUSED}`;
  return [
    rateScore(
      name,
      correct(verdicts),
      verdicts.length,
      `${converted} ${what} were converted; the official decoder refuses them`,
    ),
    rateScore(
      `${name}_unconverted`,
      official,
      verdicts.length,
      isEpisode
        ? `at least as many by the official decoder, which ends a turn there: ${converted} ${what} are wrong here`
        : `as the official decoder has it: ${converted} ${what} are no calls`,
    ),
  ];
}

/** What is kept of each turn. */
export interface TurnDetail {
  valid: boolean;
  converted: boolean;
}

/** Correct turns out of all turns; if answers were converted, also with the turns of those as wrong. */
export function turnSuccess(category: CategoryName, toolFormat: string, verdicts: Verdicts): Score[] {
  const turns = verdicts.flatMap(({ verdict }) => verdict.detail as TurnDetail[]);
  const converted = turns.filter((turn) => turn.converted).length;
  const setting =
    "each turn on its own, after the truth of the turns before it; what GenEnv's paper seems to report as BFCL; easier than the official rule, and turns of a case are not independent";
  const name = `${suiteName(category)}_turn_success_gold_history_${toolFormat}`;
  const valid = turns.filter((turn) => turn.valid);
  if (converted === 0) return [rateScore(name, valid.length, turns.length, setting)];
  return [
    rateScore(name, valid.length, turns.length, `${setting}; answers of ${converted} turns were converted`),
    rateScore(
      `${name}_unconverted`,
      valid.filter((turn) => !turn.converted).length,
      turns.length,
      `${converted} turns with answers ${REFUSED} are wrong here, as the official decoder refuses them`,
    ),
  ];
}

const correct = (verdicts: Verdicts): number => verdicts.filter(({ verdict }) => verdict.correct).length;
