import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { createLogUpdate } from 'log-update';
import type { EvaluationProgress } from '../../types/evaluation-types.ts';
import type { CliContext } from '../context.ts';
import type { Interruption } from '../interruption.ts';
import { ask } from '../run/follow.ts';
import { resultIn } from '../run/in-session.ts';
import type { Session } from '../run/session.ts';
import { bar } from '../show/band.ts';

/** Shows how an evaluation gets on, until `stop`: a bar on a terminal, plain lines without one. */
async function followEvaluation(
  client: Client,
  handle: { query<Result>(name: string): Promise<Result> },
  { terminal, print }: CliContext,
  stop: AbortSignal,
): Promise<void> {
  const log = terminal === null ? null : createLogUpdate(terminal);
  let before = '';
  const look = async (): Promise<void> => {
    const progress = await ask(client, () => handle.query<EvaluationProgress>('progress'));
    if (progress === undefined) return;
    const { status, shards, answered, judged } = progress;
    const line =
      shards === 0 ? status : `${status}: ${answered} of ${shards} shards answered, ${judged} judged`;
    if (log !== null) log(`${line}  ${bar(shards === 0 ? 0 : (answered + judged) / (2 * shards))}`);
    else if (line !== before) print(line);
    before = line;
  };
  while (!stop.aborted) {
    await look();
    await sleep(1_000, undefined, { signal: stop }).catch(() => undefined);
  }
  await look();
  log?.done();
}

/** Starts a workflow that scores, and shows how it gets on until its end. */
export async function followed<Result>(
  session: Session,
  id: string,
  context: CliContext,
  interruption: Interruption,
  start: () => Promise<{
    workflowId: string;
    result(): Promise<Result>;
    query<Answer>(name: string): Promise<Answer>;
  }>,
): Promise<Result | undefined> {
  const handle = await start();
  context.print(
    `Following ${id}${session.ui === null ? '' : `: ${session.ui}/namespaces/default/workflows/${handle.workflowId}`}`,
  );
  const ended = new AbortController();
  const following = followEvaluation(
    session.client,
    handle,
    context,
    AbortSignal.any([ended.signal, interruption.stop]),
  );
  try {
    return await resultIn(session, id, handle, interruption);
  } finally {
    ended.abort();
    await following;
  }
}
