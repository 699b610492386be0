import { join } from 'node:path';
import type { Question } from '../../formats/chat-messages.ts';
import type { Literal } from '../../formats/python-literal.ts';
import { readShipped } from '../shipped-data.ts';
import { rateScore } from '../suite.ts';
import type { Case, CaseVerdict, OpenSuite, Score, Suite, SuiteSettings } from '../suite.ts';
import { callFault, parseApiCall } from './damo-rule.ts';
import type { ApiCall } from './damo-rule.ts';
import {
  isJsonObject,
  parseJson,
  reasonWithoutCall,
  recordResponse,
  toolsOfInstruction,
} from './tool-descriptions.ts';
import type { CallResponse } from './tool-descriptions.ts';

/** A call of a dialogue: `<file>#<id>`, as DAMO's data counts them. */
export interface DamoCase extends Case {
  instruction: string;
  input: string;
  expected: string;
}

type Row = { file: string; id: number; instruction: string; input: string; expected_output: string };

const search = 'ToolSearcher';
const nativeInstruction =
  'Make the API call that the previous dialogue context asks for. The current year is 2023.';
/** Levels of lists and objects in native arguments; deeper ones are no call, as in texts. */
const MAX_DEPTH = 50;
const rule = 'arguments compared by a rule of this project, not by executing the call';

/** Level 1: every API is described. */
export const apiBankDamoLevel1 = damoSuite(
  1,
  'API-Bank level 1 of DAMO, 399 calls of described APIs, arguments compared',
);

/** Level 2: the model finds its APIs with a search, whose results are in the dialogue. */
export const apiBankDamoLevel2 = damoSuite(
  2,
  'API-Bank level 2 of DAMO, 135 calls of APIs that a search has to find, arguments compared',
);

function damoSuite(level: 1 | 2, about: string): Suite<DamoCase, CallResponse> {
  const name = `api_bank_damo_level${level}`;
  return {
    name,
    about,
    refuses: ({ toolFormat }) =>
      level === 2 && toolFormat === 'native'
        ? `toolFormat: got "native"; ${name} describes most of its APIs in the dialogue alone: use "prompt"`
        : null,
    async open({ shipped }, { toolFormat }) {
      const data = await readShipped(join(shipped, 'api-bank'), [`damo-level-${level}-api.json`]);
      if ('missing' in data) return data;
      const rows = JSON.parse(data.texts[0]!) as Row[];
      return openDamo(
        rows.map(({ file, id, instruction, input, expected_output }) => ({
          id: `${file}#${id}`,
          instruction,
          input,
          expected: expected_output,
        })),
        data.dataHash,
        name,
        toolFormat,
      );
    },
  };
}

function openDamo(
  cases: readonly DamoCase[],
  dataHash: string,
  name: string,
  format: SuiteSettings['toolFormat'],
): OpenSuite<DamoCase, CallResponse> {
  return {
    cases,
    dataHash,
    promptVersion: '2',
    versions: { api_bank_damo: '3' },
    attempt: async (item, tools) => recordResponse(await tools.ask(buildQuestion(item, format)), format),
    judge: (answered) => Promise.resolve(answered.map(({ item, response }) => judgeCase(item, response))),
    scores: (verdicts) => computeScores(verdicts, name, format),
    gold: ({ expected }) =>
      format === 'native' ? { calls: [nativeCall(parseApiCall(expected)!)] } : { text: expected },
    close: () => Promise.resolve(),
  };
}

function buildQuestion({ instruction, input }: DamoCase, format: SuiteSettings['toolFormat']): Question {
  const dialogue = input.replace(/Generate API Request:\n$/, '');
  if (format === 'native')
    return {
      messages: [
        { role: 'system', content: nativeInstruction },
        { role: 'user', content: dialogue },
      ],
      tools: toolsOfInstruction(instruction),
    };
  return {
    messages: [
      { role: 'system', content: instruction.trim() },
      { role: 'user', content: input.trim() },
    ],
  };
}

function judgeCase({ expected }: DamoCase, response: CallResponse): CaseVerdict {
  const gold = parseApiCall(expected)!;
  const call = 'text' in response ? parseApiCall(response.text) : parseNativeCall(response.calls[0]);
  const reason = call === undefined ? reasonWithoutCall(response) : callFault(call, gold);
  const correct = reason === null;
  return {
    correct,
    scores: {
      arguments: Number(correct),
      name: Number(call?.name === gold.name),
      beyond_search: gold.name === search ? null : Number(correct),
    },
    reason,
  };
}

function parseNativeCall(call: { name: string; arguments: string } | undefined): ApiCall | undefined {
  const parameters = call && parseJson(call.arguments);
  return call && isJsonObject(parameters) && isNestedWithin(parameters, MAX_DEPTH)
    ? { name: call.name, parameters: new Map(Object.entries(parameters as Record<string, Literal>)) }
    : undefined;
}

const isNestedWithin = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((item) => isNestedWithin(item, levels - 1)));

const nativeCall = ({ name, parameters }: ApiCall): { name: string; arguments: string } => ({
  name,
  arguments: JSON.stringify(Object.fromEntries(parameters)),
});

function computeScores(
  verdicts: readonly { id: string; verdict: CaseVerdict }[],
  name: string,
  format: string,
): Score[] {
  const rate = (which: string, note: string): Score => {
    const values = verdicts
      .map(({ verdict }) => verdict.scores[which] ?? null)
      .filter((value) => value !== null);
    return rateScore(
      `${name}_${which}_${format}`,
      values.reduce((sum, value) => sum + value, 0),
      values.length,
      note,
    );
  };
  return [
    rate('arguments', rule),
    rate('name', 'the API named, whatever its arguments'),
    ...(name.endsWith('2') ? [rate('beyond_search', `${rule}; without the calls of ${search}`)] : []),
  ];
}
