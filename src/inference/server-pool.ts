/** Several servers for the same policies. */
import { InvalidAnswer, ModelNotServed, ModelUnavailable } from './policy-client.ts';
import type { Completion, CompletionRequest, PolicyClient } from './policy-client.ts';
import { completeSeparately } from './prompt-requests.ts';

/** What is known of a server in this process: shared by all clients that ask it. */
export interface ServerLoad {
  underWay: number;
  /** Times in a row that it could not answer; calls that fail at one time count once. */
  failures: number;
  /** When it is asked again beside others, after a failure; in milliseconds since 1970. */
  retryAt: number;
  /** Calls in a row for a policy that it did not have; after the first one, the policy was published again. */
  misses: number;
}

export const createServerLoad = (): ServerLoad => ({ underWay: 0, failures: 0, retryAt: 0, misses: 0 });

const MIN_DELAY_MS = 1_000;
const MAX_DELAY_MS = 5 * 60_000;
/** How long a server is passed over after so many failures. */
const delayMs = (failures: number): number => Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** (failures - 1));
const isPassedOver = ({ failures, retryAt }: ServerLoad): boolean => failures > 0 && Date.now() < retryAt;

interface PooledServer<Client> {
  client: Client;
  load: ServerLoad;
}

/**
 * The smallest of the lengths that servers state; those that cannot answer now are left out.
 * @throws what the first one throws if none can
 */
export async function smallestLength(
  servers: readonly PooledServer<PolicyClient>[],
  model: string,
  signal: AbortSignal,
): Promise<number | null> {
  const answers = await Promise.allSettled(servers.map(({ client }) => client.contextLength(model, signal)));
  const lengths = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const [failure] = answers.filter(({ status }) => status === 'rejected');
  if (lengths.length === 0 && failure?.status === 'rejected') throw failure.reason;
  const stated = lengths.filter((length) => length !== null);
  return stated.length === 0 ? null : Math.min(...stated);
}

/**
 * Completes a request. Among several servers each prompt is a call of its own, so that a request keeps all of
 * them busy, and one that fails costs no more than the prompts it had; which server answers does not change
 * the seeds.
 * @throws as `PolicyClient.complete` does
 */
export function completeOnServers(
  servers: readonly PooledServer<PolicyClient>[],
  request: CompletionRequest,
  signal: AbortSignal,
): Promise<Completion[]> {
  if (servers.length === 1)
    return callOneServer(servers, request.seed, (client) => client.complete(request, signal));
  return completeSeparately(request, signal, (single, stop) =>
    callOneServer(servers, single.seed, (client) =>
      client.complete({ ...single, promptSeeds: [single.seed] }, stop),
    ),
  );
}

/**
 * Calls a server: the one that answered last time and has the fewest calls under way; the `key` of the call
 * decides between equals. One that cannot answer now is passed over for a while, which doubles with each
 * failure; then one call tries it. One that still lacks the policy after it was published is passed over too, and so
 * is one of several whose answers fit no request: it has another model, or is another version.
 * @throws ModelNotServed if a server lacks the policy and publishing it may help, ModelUnavailable if none can
 * answer now, InvalidAnswer if the answers of all fit no request; what the chosen one throws otherwise
 */
export async function callOneServer<Client, Answer>(
  servers: readonly PooledServer<Client>[],
  key: number,
  call: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const distance = (index: number): number =>
    (index - (key % servers.length) + servers.length) % servers.length;
  const order = servers
    .map(({ load }, index) => ({
      index,
      failures: isPassedOver(load) ? load.failures : 0,
      underWay: load.underWay,
    }))
    .sort(
      (a, b) => a.failures - b.failures || a.underWay - b.underWay || distance(a.index) - distance(b.index),
    );
  let problem: PoolProblem | undefined;
  for (const { index } of order) {
    const { client, load } = servers[index]!;
    load.underWay += 1;
    const { failures } = load;
    const isTrial = !isPassedOver(load);
    // Others do not wait for the answer to this one.
    if (isTrial && load.failures > 0) load.retryAt = Date.now() + delayMs(load.failures);
    try {
      const answer = await call(client);
      load.failures = 0;
      load.misses = 0;
      return answer;
    } catch (error) {
      if (!isPoolProblem(error)) throw error;
      const isMiss = error instanceof ModelNotServed;
      if (isTrial && load.failures === failures) load.failures += 1;
      load.retryAt = Date.now() + delayMs(load.failures);
      if (isMiss) load.misses += 1;
      if (isMiss && load.misses === 1) throw error;
      if (problem === undefined || remedyRank(error) >= remedyRank(problem)) problem = error;
    } finally {
      load.underWay -= 1;
    }
  }
  throw problem ?? new ModelUnavailable('there is no server to ask');
}

/** What another server of the pool may not have. */
type PoolProblem = ModelUnavailable | ModelNotServed | InvalidAnswer;
const isPoolProblem = (error: unknown): error is PoolProblem =>
  error instanceof ModelUnavailable || error instanceof ModelNotServed || error instanceof InvalidAnswer;

/**
 * Which of several servers' problems is the call's: what publishing may mend, then a limit of the rate, which is
 * waited out, then a server that is away, then an answer that fits no request.
 */
const remedyRank = (problem: PoolProblem): number => {
  if (problem instanceof ModelNotServed) return 3;
  if (problem instanceof InvalidAnswer) return 0;
  return problem.isRateLimit ? 2 : 1;
};
