import type { AttemptTools, Case } from '../benchmarks/suite.ts';
import type { Answer, Question } from '../formats/chat-messages.ts';

/** A question of an attempt: `step` counts what the attempt has asked the policy so far. */
export interface PendingQuestion {
  id: string;
  step: number;
  question: Question;
}

export interface LockstepOptions {
  /** Answers, in the order of the questions. */
  answer: (asked: readonly PendingQuestion[]) => Promise<Answer[]>;
  judge: ((id: string, step: number, question: Question) => Promise<Answer>) | null;
  once: <Result>(id: string, step: number, run: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  signal: AbortSignal;
}

/**
 * Attempts at several cases side by side: all that go on ask their next question at the same time, in the
 * order of the cases. So what is asked together follows from the answers alone, and a repeated attempt finds
 * the same batches.
 * @returns what each attempt came to, in the order of the cases
 * @throws what the first failing attempt or request threw
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
  const begin = async (item: Item, index: number): Promise<Response> => {
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
  const attempts = Promise.all(items.map(begin));
  const failed = attempts.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  try {
    while (live > 0) {
      if (waiting.length < live) {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        wake = () => resolve(undefined);
        if ((await Promise.race([promise, failed])) !== undefined) break;
        continue;
      }
      const batch = waiting.splice(0).sort((one, other) => one.index - other.index);
      const answers = await answer(batch.map(({ id, step, question }) => ({ id, step, question })));
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index]!);
      // Lets the attempts go on before it is looked who waits.
      await new Promise(setImmediate);
    }
    return await attempts;
  } catch (error) {
    stopped.abort(error);
    throw error;
  }
}
