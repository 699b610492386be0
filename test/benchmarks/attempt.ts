import { fileURLToPath } from 'node:url';
import type {
  AttemptTools,
  Case,
  OpenSuite,
  Suite,
  SuiteHost,
  SuiteSettings,
} from '../../src/benchmarks/suite.ts';
import type { Answer, Question } from '../../src/formats/chat-messages.ts';
import { accepted } from '../../test-support/chat-history.ts';
import { permitLoopback } from '../../test-support/permitted-servers.ts';

export const prompted: SuiteSettings = { toolFormat: 'prompt', search: null };
export const native: SuiteSettings = { ...prompted, toolFormat: 'native' };

export const shippedHost: SuiteHost = {
  shipped: fileURLToPath(new URL('../../data', import.meta.url)),
  downloads: '/nowhere',
  enginePython: () => Promise.resolve(null),
  permitServer: permitLoopback,
};

export const answer = (text: string, toolCalls: Answer['toolCalls'] = []): Answer => ({
  text,
  toolCalls,
  finish_reason: 'stop',
  tokens: 0,
});

/** The suite, which must be ready. */
export async function opened<Item extends Case, Response>(
  suite: Suite<Item, Response>,
  settings = prompted,
  host = shippedHost,
): Promise<OpenSuite<Item, Response>> {
  const open = await suite.open(host, settings);
  if ('missing' in open) throw new Error(open.missing);
  return open;
}

/** Tools of an attempt that answers with given texts in turn, and keeps what it was asked. */
export function scripted(
  answers: readonly Answer[],
  judge: AttemptTools['judge'] = null,
): { tools: AttemptTools; questions: Question[] } {
  const questions: Question[] = [];
  const signal = new AbortController().signal;
  return {
    questions,
    tools: {
      ask: (question) => {
        const next = answers[questions.length];
        questions.push(accepted(question));
        return next === undefined ? Promise.reject(new Error('asked too often')) : Promise.resolve(next);
      },
      judge,
      once: (run) => run(signal),
      signal,
    },
  };
}

/** Figures of a suite by name, in per cent to two decimals. */
export async function figures<Item extends Case, Response>(
  suite: OpenSuite<Item, Response>,
  responses: readonly Response[],
): Promise<Record<string, number>> {
  const verdicts = await suite.judge(
    suite.cases.map((item, index) => ({ item, response: responses[index]! })),
    new AbortController().signal,
  );
  const scores = suite.scores(verdicts.map((verdict, index) => ({ id: suite.cases[index]!.id, verdict })));
  return Object.fromEntries(scores.map(({ name, value }) => [name, Math.round(value * 1e4) / 100]));
}
