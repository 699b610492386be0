/** Several servers for the same policies. */
import { ModelUnavailable } from './policy-client.ts';

/** What is known of a server in this process: shared by all clients that ask it. */
export interface ServerLoad {
  underWay: number;
  /** Calls in a row that it could not answer. */
  failures: number;
}

/**
 * Calls a server: the one that answered last time and has the fewest calls under way; the `key` of the call
 * decides between equals. One that cannot answer now is passed over.
 * @throws ModelUnavailable if none can answer now; what the chosen one throws otherwise
 */
export async function callOneServer<Client, Answer>(
  servers: readonly { client: Client; load: ServerLoad }[],
  key: number,
  call: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const distance = (index: number): number =>
    (index - (key % servers.length) + servers.length) % servers.length;
  const order = servers
    .map(({ load }, index) => ({ index, failures: load.failures, underWay: load.underWay }))
    .sort(
      (a, b) => a.failures - b.failures || a.underWay - b.underWay || distance(a.index) - distance(b.index),
    );
  let unavailable: ModelUnavailable | undefined;
  for (const { index } of order) {
    const { client, load } = servers[index]!;
    load.underWay += 1;
    try {
      const answer = await call(client);
      load.failures = 0;
      return answer;
    } catch (error) {
      if (!(error instanceof ModelUnavailable)) throw error;
      load.failures += 1;
      unavailable = error;
    } finally {
      load.underWay -= 1;
    }
  }
  throw unavailable ?? new ModelUnavailable('there is no server to ask');
}
