import type { RandomStream } from '../coevolution/seeds.ts';
import type { ChatRequest } from '../policies/chat-server.ts';

const shown = 8;

/** Asks for variations of a base task in the world's own text, which it knows from examples alone: so one prompt serves all worlds. */
export function offlinePrompt(
  base: readonly string[],
  seedTask: string,
  count: number,
  random: RandomStream,
): ChatRequest['messages'] {
  return [
    {
      role: 'system',
      content:
        'You write training tasks for an agent. A task is one line, in exactly the form of the examples. Answer with tasks alone, one a line: no numbers, no comments.',
    },
    {
      role: 'user',
      content: `Examples:\n${random.shuffle(base).slice(0, shown).join('\n')}\n\nWrite ${count} new ${count === 1 ? 'task' : 'tasks'}, none of them among the examples, as variations of:\n${seedTask}`,
    },
  ];
}
