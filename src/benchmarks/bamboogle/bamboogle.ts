import { join } from 'node:path';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { readShipped } from '../shipped-data.ts';
import { meanScore, rateScore } from '../suite.ts';
import type {
  AttemptTools,
  Benchmark,
  Case,
  CaseVerdict,
  Missing,
  OpenSuite,
  Score,
  Suite,
  SuiteHost,
} from '../suite.ts';
import { containedAnswerMatch, exactAnswerMatch, extractAnswer, f1 } from './answer-rules.ts';
import { askJudge, isJudgedCorrect } from './judge.ts';
import type { SearchEndpoint } from './search-endpoint.ts';
import { runSearchRounds } from './search-rounds.ts';

/** A question of two hops, by its place in the data: `bamboogle_0`. */
export interface BamboogleCase extends Case {
  question: string;
  gold: string;
}

/** The model's last text, and the judge's words on the answer in it: null without a judge. */
export interface BamboogleResponse {
  text: string;
  judgment: string | null;
  rounds: number;
  queries: readonly string[];
}

type ModelAnswer = Omit<BamboogleResponse, 'judgment'>;
type Row = { Question: string; Answer: string };

const closedBookPrompt = (question: string): string =>
  `Answer the question. You may reason step by step first. Then give a short answer, a name, a date or a number alone, as <answer>...</answer>.\n\nQuestion: ${question}`;

const judgeNote = 'share that a judge model calls right: the judge model as named in the evaluation';
const genEnvNote = `search in four rounds and a judge, as in ToolRL's harness (whose judge is gpt-4o), which GenEnv's paper seems to use; it names no protocol; ${judgeNote}`;

/** From memory: one question, one answer. */
export const bamboogleClosedBook: Suite<BamboogleCase, BamboogleResponse> = {
  name: 'bamboogle_closedbook',
  about: 'Bamboogle, 125 two-hop questions from memory: EM, sub-EM, F1, a judge where one is named',
  refuses: () => null,
  open: (host) =>
    openBamboogle(host, 'closedbook', async ({ question }, tools) => {
      const { text } = await tools.ask({ messages: [{ role: 'user', content: closedBookPrompt(question) }] });
      return { text, rounds: 1, queries: [] };
    }),
};

/** With a search tool, in four turns of the model. */
export const bamboogleSearch: Suite<BamboogleCase, BamboogleResponse> = {
  name: 'bamboogle_search',
  about:
    "Bamboogle with a search tool, at most 4 rounds, as ToolRL's harness asks: EM, sub-EM, F1, a judge where one is named",
  refuses: ({ search }) =>
    search === null
      ? 'search: got null; bamboogle_search needs a search endpoint: {"url": "...", "apiKeyEnv": "..."}'
      : null,
  async open(host, { search, toolFormat }) {
    const { url, apiKeyEnv } = search!;
    const server = (): ReturnType<SuiteHost['permitServer']> => host.permitServer(url, apiKeyEnv);
    const opened = await openBamboogle(host, `search_${toolFormat}`, ({ question }, tools) =>
      runSearchRounds(question, endpointOf(server()), toolFormat, tools),
    );
    if ('missing' in opened) return opened;
    return {
      ...opened,
      get cannotAsk() {
        const permitted = server();
        return 'refused' in permitted ? `the search endpoint: ${permitted.refused}` : undefined;
      },
    };
  },
};

function endpointOf(server: ReturnType<SuiteHost['permitServer']>): SearchEndpoint {
  if ('refused' in server) throw new InvalidConfig(`search.url: ${server.refused}`);
  return { url: server.baseUrl, key: server.apiKey };
}

async function openBamboogle(
  { shipped }: SuiteHost,
  setting: string,
  attempt: (item: BamboogleCase, tools: AttemptTools) => Promise<ModelAnswer>,
): Promise<OpenSuite<BamboogleCase, BamboogleResponse> | Missing> {
  const data = await readShipped(join(shipped, 'bamboogle'), ['bamboogle.json']);
  if ('missing' in data) return data;
  return {
    cases: (JSON.parse(data.texts[0]!) as Row[]).map(({ Question: question, Answer: gold }, index) => ({
      id: `bamboogle_${index}`,
      question,
      gold,
    })),
    dataHash: data.dataHash,
    promptVersion: '1',
    versions: { bamboogle: '1' },
    async attempt(item, tools) {
      const modelAnswer = await attempt(item, tools);
      return {
        ...modelAnswer,
        judgment: await askJudge(tools, { ...item, predicted: extractAnswer(modelAnswer.text) }),
      };
    },
    judge: (answered) => Promise.resolve(answered.map(({ item, response }) => judgeCase(item, response))),
    scores: (verdicts) =>
      computeScores(
        verdicts.map(({ verdict }) => verdict),
        setting,
      ),
    gold: ({ gold }) => ({ text: `<answer>${gold}</answer>`, judgment: null, rounds: 1, queries: [] }),
    close: () => Promise.resolve(),
  };
}

function judgeCase({ gold }: BamboogleCase, { text, judgment }: BamboogleResponse): CaseVerdict {
  const predicted = extractAnswer(text);
  const em = exactAnswerMatch(predicted, gold);
  const failure = predicted === '' ? 'no_answer' : 'wrong_answer';
  return {
    correct: em === 1,
    scores: {
      em,
      subem: containedAnswerMatch(predicted, gold),
      f1: f1(predicted, gold),
      judge: judgment === null ? null : Number(isJudgedCorrect(judgment)),
    },
    reason: em === 1 ? null : failure,
  };
}

function computeScores(verdicts: readonly CaseVerdict[], setting: string): Score[] {
  const values = (rule: string): number[] => verdicts.flatMap(({ scores }) => scores[rule] ?? []);
  const rate = (rule: string, name = `bamboogle_${rule}_${setting}`, note?: string): Score =>
    rateScore(
      name,
      values(rule).reduce((sum, value) => sum + value, 0),
      values(rule).length,
      note,
    );
  const scores = [rate('em'), rate('subem'), meanScore(`bamboogle_f1_${setting}`, values('f1'))];
  if (values('judge').length === 0) return scores;
  return [
    ...scores,
    rate('judge', undefined, judgeNote),
    ...(setting === 'search_prompt'
      ? [rate('judge', 'bamboogle_genenv_judge_search_prompt', genEnvNote)]
      : []),
  ];
}

/** Bamboogle (Press et al., arXiv 2210.03350): questions of two hops that no one page answers. */
export const bamboogle: Benchmark = { name: 'bamboogle', suites: [bamboogleClosedBook, bamboogleSearch] };
