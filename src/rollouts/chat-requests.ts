import { join } from 'node:path';
import type { ChatAnswer, ChatClient, ChatRequest } from '../inference/chat-client.ts';
import type { HasActivityContext, PhaseStorage } from '../runtime/dependencies.ts';
import type { Phase } from '../runtime/run-once.ts';
import { Journal } from '../store/journal.ts';

/**
 * Answers to questions, in their order. As with requests to policies, each is on disk before the next is
 * asked.
 */
export async function* streamChatCompletions<Item>(
  dependencies: Pick<PhaseStorage, 'onDamage'> & HasActivityContext,
  { work }: Phase,
  server: ChatClient,
  asked: readonly (Item & { request: ChatRequest })[],
): AsyncGenerator<{ item: Item; answer: ChatAnswer }> {
  const { signal, heartbeat } = dependencies.activityContext();
  const folder = await work();
  const claim = await folder.claim();
  const journal = await Journal.open<ChatAnswer>(join(folder.path, 'questions.jsonl'), {
    onDamage: dependencies.onDamage,
    assertCurrent: () => claim.assertCurrent(),
  });
  try {
    for (const [index, item] of asked.entries()) {
      let answer = journal.entries.shift();
      if (answer === undefined) {
        signal.throwIfAborted();
        answer = await server.answer(item.request, signal);
        await journal.append(answer);
        heartbeat({ requests: index + 1, of: asked.length });
      }
      yield { item, answer };
    }
  } finally {
    await journal.close();
  }
}
