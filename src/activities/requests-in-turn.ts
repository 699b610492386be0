import type { Completion, CompletionRequest } from '../policies/policy-server.ts';
import type { Phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { answers } from './sample.ts';

export type Ask = (request: CompletionRequest) => Promise<Completion[]>;

/** Requests each of which follows from the answers before it, journalled like any others: a retry makes the same ones from the same answers. */
export function requestsInTurn(
  ports: Ports,
  context: Phase,
  options: Parameters<typeof answers>[3],
): { ask: Ask; close: () => Promise<void> } {
  const next: CompletionRequest[] = [];
  const stream = answers(
    ports,
    context,
    (function* () {
      for (let request = next.shift(); request !== undefined; request = next.shift())
        yield { request, items: [] };
    })(),
    options,
  );
  return {
    ask: async (request) => {
      next.push(request);
      const { value } = (await stream.next()) as IteratorYieldResult<{ completions: Completion[] }>;
      return value.completions;
    },
    close: async () => {
      await stream.return(undefined);
    },
  };
}
