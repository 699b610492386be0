import type { AttemptTools, Case } from '../benchmarks/suite.ts';
import type { Answer, Question } from '../formats/chat-messages.ts';

/** A question of a case to the policy; `step` counts the case's questions from 0. */
export interface PendingQuestion {
  id: string;
  step: number;
  question: Question;
}

/** What `AttemptTools` of every case come down to. */
export interface LockstepOptions {
  /** Answers in the order of the questions. */
  answer: (questions: readonly PendingQuestion[]) => Promise<Answer[]>;
  /** Answers a question to the judge; null without one. */
  judge: ((id: string, step: number, question: Question) => Promise<Answer>) | null;
  /** Runs an effect once, over all attempts at the activity. */
  once: <Result>(id: string, step: number, run: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  signal: AbortSignal;
}

/**
 * Runs several cases in lockstep: all that are not over ask their next question at the same time, in the
 * order of the cases. So the batches follow from the answers alone, and a retry makes the same ones.
 * @returns the response of each case, in the order of the cases
 * @throws what the first failing case or request threw
 */
export async function runInLockstep<Item extends Case, Response>(
  items: readonly Item[],
  attempt: (item: Item, tools: AttemptTools) => Promise<Response>,
  { answer, judge, once, signal }: LockstepOptions,
): Promise<Response[]> {
  const stopped = new AbortController();
  const stop = AbortSignal.any([signal, stopped.signal]);
  const waiting: (PendingQuestion & { index: number; resolve: (answer: Answer) => void })[] = [];
  let live = items.length;
  let wake = (): void => undefined;
  const runCase = async (item: Item, index: number): Promise<Response> => {
    const steps = { ask: 0, judge: 0, once: 0 };
    const { id } = item;
    const ask = (question: Question): Promise<Answer> =>
      new Promise((resolve) => {
        waiting.push({ id, step: steps.ask++, question, index, resolve });
        wake();
      });
    try {
      return await attempt(item, {
        ask,
        judge: judge && ((question) => judge(id, steps.judge++, question)),
        once: (run) => once(id, steps.once++, () => run(stop)),
        signal: stop,
      });
    } finally {
      live -= 1;
      wake();
    }
  };
  const responses = Promise.all(items.map(runCase));
  const failure = responses.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  try {
    while (live > 0) {
      if (waiting.length < live) {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        wake = () => resolve(undefined);
        if ((await Promise.race([promise, failure])) !== undefined) break;
        continue;
      }
      const batch = waiting.splice(0).sort((a, b) => a.index - b.index);
      const answers = await answer(batch.map(({ id, step, question }) => ({ id, step, question })));
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index]!);
      // Lets the cases continue before their next questions are counted.
      await new Promise(setImmediate);
    }
    return await responses;
  } catch (error) {
    stopped.abort(error);
    throw error;
  }
}
