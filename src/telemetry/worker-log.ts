import { DefaultLogger } from '@temporalio/worker';
import type { Logger } from '@temporalio/worker';
import { escapeControls, plainText } from '../formats/plain-text.ts';
import { errorText } from './error-text.ts';
import { currentLabels, labelsOfFailure, labelsOfWorkflow, spanLabels } from './phase-labels.ts';
import type { PhaseLabels, SpanLabels } from './phase-labels.ts';

/** Where a worker says what happens: its own messages, and warnings of Temporal's runtime. */
export interface WorkerLog {
  say: (message: string) => void;
  logger: Logger;
}

type Write = (line: string) => void;

/** Text for people. */
export const plainLog = (): WorkerLog => ({
  say: (message) => console.log(escapeControls(message)),
  logger: new DefaultLogger('WARN', ({ level, message, meta }) =>
    console.error(level, escapeControls(message), meta?.error === undefined ? '' : errorText(meta.error)),
  ),
});

/**
 * A JSON object a line, for a collector of logs: `time`, `level`, `message`, then as far as they are known
 * `run`, `epoch`, `phase`, `shard`, `attempt`, `trace_id`, `span_id` and `error`.
 */
export function jsonLog(write: Write = (line) => console.error(line)): WorkerLog {
  const log = (level: string, message: string, meta: Record<string, unknown> = {}): void =>
    write(
      JSON.stringify({
        time: new Date().toISOString(),
        level,
        message: escapeControls(message),
        ...labelsOf(meta),
        ...(meta.error !== undefined && { error: errorOf(meta.error) }),
      }),
    );
  return {
    say: (message) => log('INFO', message),
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => log(level, message, meta)),
  };
}

/** The runtime logs the failure of an activity outside of it. */
function labelsOf({ error, workflowId }: Record<string, unknown>): PhaseLabels & SpanLabels {
  const failure = labelsOfFailure(error);
  if (failure !== undefined) return failure;
  const labels = currentLabels();
  if (labels.phase !== undefined || typeof workflowId !== 'string') return { ...labels, ...spanLabels() };
  return labelsOfWorkflow(workflowId);
}

const errorOf = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? { type: error.name, message: plainText(error.message), stack: errorText(error) }
    : { message: errorText(error) };
