import { WorkflowFailedError } from '@temporalio/client';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { Interruption } from '../interruption.ts';
import { awaitResult } from './follow.ts';
import { explainFailure } from './outcome.ts';
import { openSession } from './session.ts';
import type { Session } from './session.ts';
import type { ExternalTemporal } from './temporal-target.ts';

interface Work<Result> {
  /** The command that goes on with it. */
  again: string;
  /** What is done in the session; undefined where a stop was asked for. */
  follow: (session: Session, interruption: Interruption) => Promise<Result | undefined>;
  /** What is done with the result, when the session is closed. */
  end: (result: Result) => Promise<ExitCode>;
}

/** Follows something in a session of its own, until it ends or Ctrl-C stops it. */
export async function inSession<Result>(
  external: ExternalTemporal | null,
  context: CliContext,
  { again, follow, end }: Work<Result>,
): Promise<ExitCode> {
  const interruption = new Interruption((signal) =>
    context.print(`\n${signal}: stopping; what is under way is saved. Once more stops at once.`),
  );
  const session = await openSession(external, context, interruption);
  try {
    const result = session && (await follow(session, interruption));
    if (session === undefined || result === undefined) {
      context.print(`Stopping. To go on: ${again}`);
      return exitCodes.interrupted;
    }
    await session.close(interruption.hurry);
    return await end(result);
  } finally {
    await session?.close(interruption.hurry);
    interruption.dispose();
  }
}

/**
 * A workflow's result, or undefined where a stop was asked for. @throws CliError where it failed, or the
 * stack is lost
 */
export async function resultIn<Result>(
  { client, lost }: Session,
  id: string,
  handle: { result(): Promise<Result> },
  interruption: Interruption,
): Promise<Result | undefined> {
  const gone = lost.then((reason): never => {
    throw new CliError(reason.message);
  });
  gone.catch(() => undefined);
  try {
    return await interruption.unlessStopped(
      Promise.race([awaitResult(client, handle, interruption.stop), gone]),
    );
  } catch (error) {
    throw error instanceof WorkflowFailedError ? explainFailure(error, id) : error;
  }
}
