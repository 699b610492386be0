/** Why a model server cannot answer, in a few words, for people who wait for it. */
import { withoutSentKeys } from '../async/sent-keys.ts';

const maxLength = 300;

/** What codes of the operating system and of Node's HTTP client say. */
const codeTexts: Partial<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'name resolution failed',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'no answer in time',
};

/** The reason by the first code among an error's causes, else the message of the innermost one. */
export function connectionProblem(error: unknown): string {
  let message = String(error);
  for (let cause = error; cause instanceof Error; cause = innerError(cause)) {
    if (cause.name === 'TimeoutError') return 'no answer in time';
    const text = codeTexts[String((cause as NodeJS.ErrnoException).code)];
    if (text !== undefined) return text;
    if (cause.message !== '') message = cause.message;
  }
  return shortReason(message);
}

/** Node tries all addresses of a host, and reports their errors together. */
const innerError = (error: Error): unknown =>
  error instanceof AggregateError ? (error.errors[0] as unknown) : error.cause;

/** One line of bounded length, without keys. */
export const shortReason = (text: string): string => {
  const line = withoutSentKeys(text).replaceAll(/\s+/g, ' ').trim();
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 3)}...`;
};

export const secondsText = (milliseconds: number): string => `${Math.round(milliseconds / 100) / 10} s`;
