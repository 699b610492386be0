import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bfcl } from '../../src/benchmarks/bfcl/bfcl.ts';
import type { BfclResponse } from '../../src/benchmarks/bfcl/conversation.ts';
import type { BfclCase, RecordedAnswer } from '../../src/benchmarks/bfcl/engine.ts';
import { enginePython } from '../../src/benchmarks/registry.ts';
import type {
  AttemptTools,
  CaseVerdict,
  Missing,
  OpenSuite,
  SuiteHost,
  SuiteSettings,
} from '../../src/benchmarks/suite.ts';
import type { Answer, Question } from '../../src/formats/chat-messages.ts';
import { accepted } from '../../test-support/chat-history.ts';
import { permitLoopback } from '../../test-support/permitted-servers.ts';

export const host: SuiteHost = { shipped: '', downloads: '', enginePython, permitServer: permitLoopback };

/** The data that comes with the package that judges. */
export async function packageData(): Promise<string> {
  const python = await enginePython('bfcl');
  const { stdout } = await promisify(execFile)(python!, [
    '-c',
    "import importlib.util as util; print(util.find_spec('bfcl_eval').submodule_search_locations[0])",
  ]);
  return join(stdout.trim(), 'data');
}

export type Open = OpenSuite<BfclCase, BfclResponse>;
type ToolFormat = SuiteSettings['toolFormat'];

export async function openOrMissing(
  name: string,
  toolFormat: ToolFormat = 'prompt',
): Promise<Open | Missing> {
  const suite = bfcl.suites.find((candidate) => candidate.name === `bfcl_v4_${name}`);
  if (suite === undefined) throw new Error(`no suite bfcl_v4_${name}`);
  return (await suite.open(host, { toolFormat, search: null })) as unknown as Open | Missing;
}

export async function open(name: string, toolFormat: ToolFormat = 'prompt'): Promise<Open> {
  const opened = await openOrMissing(name, toolFormat);
  if ('missing' in opened) throw new Error(opened.missing);
  return opened;
}

/** Verdicts of a suite by case id on the turns that `turnsOf` gives; undefined leaves the case out. */
export async function judged(
  suite: Open,
  turnsOf: (item: BfclCase) => BfclResponse['turns'] | undefined,
): Promise<Map<string, CaseVerdict>> {
  const answered = suite.cases.flatMap((item) => {
    const turns = turnsOf(item);
    return turns === undefined ? [] : [{ item, response: { turns } }];
  });
  const verdicts = await suite.judge(answered, new AbortController().signal);
  return new Map(answered.map(({ item }, index) => [item.id, verdicts[index]!]));
}

export const text = (content: string): RecordedAnswer => ({ text: content, toolCalls: [] });

export const call = (name: string, args: unknown): RecordedAnswer => ({
  text: '',
  toolCalls: [{ name, arguments: JSON.stringify(args) }],
});

/**
 * What a policy said and was asked: it answers with the given answers one after the other, then with nothing.
 */
export function scripted(
  answers: readonly RecordedAnswer[],
  onDone?: (result: unknown) => void,
): { tools: AttemptTools; questions: Question[] } {
  const questions: Question[] = [];
  const tools: AttemptTools = {
    ask(question) {
      const { text: content, toolCalls } = answers[questions.length] ?? text('');
      questions.push(accepted(question));
      const answer: Answer = {
        text: content,
        toolCalls: toolCalls.map((made, index) => ({ ...made, id: `${questions.length}_${index}` })),
        finish_reason: 'stop',
        tokens: 0,
      };
      return Promise.resolve(answer);
    },
    judge: null,
    async once(run) {
      const result = await run(new AbortController().signal);
      onDone?.(result);
      return result;
    },
    signal: new AbortController().signal,
  };
  return { tools, questions };
}
