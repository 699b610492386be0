import { join } from 'node:path';
import type { Question } from '../../formats/chat-messages.ts';
import { readShipped } from '../shipped-data.ts';
import { rateScore } from '../suite.ts';
import type { Case, CaseVerdict, OpenSuite, Score, Suite, SuiteSettings } from '../suite.ts';
import { parseJson, reasonWithoutCall, recordResponse, toolsOfSystemPrompt } from './tool-descriptions.ts';
import type { CallResponse } from './tool-descriptions.ts';
import { parseToolRlCalls, toolRlMatch } from './toolrl-rule.ts';
import type { GoldCall } from './toolrl-rule.ts';

/** A case of ToolRL's selection: `Level1_0`, as its results name it. */
export interface ToolRlCase extends Case {
  system: string;
  user: string;
  gold: GoldCall;
}

type Row = { system: string; user: string; answer: GoldCall | [GoldCall] };

const levels = [1, 2, 3] as const;
const nativeInstruction =
  'You are a helpful multi-turn dialogue assistant capable of leveraging tool calls to solve user tasks.';
const genEnv = "ToolRL's selection and rule, which GenEnv's paper seems to report; it names no protocol";

/** ToolRL's 597 single calls of levels 1 to 3. */
export const apiBankToolRl: Suite<ToolRlCase, CallResponse> = {
  name: 'api_bank_toolrl',
  about: 'API-Bank, 597 single calls of levels 1 to 3 as ToolRL selects and scores them',
  refuses: () => null,
  async open({ shipped }, { toolFormat }) {
    const data = await readShipped(
      join(shipped, 'api-bank'),
      levels.map((level) => `level-${level}-api_processed.json`),
    );
    if ('missing' in data) return data;
    const cases = data.texts.flatMap((text, level) =>
      (JSON.parse(text) as Row[]).map((row, index) => toCase(`Level${level + 1}_${index}`, row)),
    );
    return openToolRl(cases, data.dataHash, toolFormat);
  },
};

const toCase = (id: string, { system, user, answer }: Row): ToolRlCase => ({
  id,
  system,
  user,
  gold: Array.isArray(answer) ? answer[0] : answer,
});

function openToolRl(
  cases: readonly ToolRlCase[],
  dataHash: string,
  format: SuiteSettings['toolFormat'],
): OpenSuite<ToolRlCase, CallResponse> {
  return {
    cases,
    dataHash,
    promptVersion: '2',
    versions: { api_bank_toolrl: '2' },
    attempt: async (item, tools) => recordResponse(await tools.ask(buildQuestion(item, format)), format),
    judge: (answered) => Promise.resolve(answered.map(({ item, response }) => judgeCase(item, response))),
    scores: (verdicts) => computeScores(verdicts, format),
    gold: ({ gold }) =>
      format === 'native'
        ? { calls: [{ name: gold.name, arguments: JSON.stringify(gold.parameters) }] }
        : { text: `<tool_call>\n${JSON.stringify(gold)}\n</tool_call>` },
    close: () => Promise.resolve(),
  };
}

function buildQuestion({ system, user }: ToolRlCase, format: SuiteSettings['toolFormat']): Question {
  const about = format === 'native' ? nativeInstruction : system;
  return {
    messages: [
      { role: 'system', content: about },
      { role: 'user', content: user },
    ],
    ...(format === 'native' && { tools: toolsOfSystemPrompt(system) }),
  };
}

function judgeCase({ gold }: ToolRlCase, response: CallResponse): CaseVerdict {
  const calls =
    'text' in response
      ? parseToolRlCalls(response.text)
      : response.calls.map((call) => ({ name: call.name, parameters: parseJson(call.arguments) }));
  const correct = toolRlMatch(calls, gold);
  const failure = calls.length === 0 ? reasonWithoutCall(response) : 'wrong_call';
  return { correct, scores: { exact: Number(correct) }, reason: correct ? null : failure };
}

function computeScores(
  verdicts: readonly { id: string; verdict: CaseVerdict }[],
  format: SuiteSettings['toolFormat'],
): Score[] {
  const rate = (name: string, prefix: string, note?: string): Score => {
    const cases = verdicts.filter(({ id }) => id.startsWith(prefix));
    return rateScore(name, cases.filter(({ verdict }) => verdict.correct).length, cases.length, note);
  };
  return [
    rate(`api_bank_toolrl_exact_${format}`, ''),
    ...levels.map((level) => rate(`api_bank_toolrl_level${level}_exact_${format}`, `Level${level}_`)),
    ...(format === 'prompt' ? [rate('api_bank_genenv_toolrl_exact_prompt', '', genEnv)] : []),
  ];
}
