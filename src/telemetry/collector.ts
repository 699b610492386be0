/** What a collector of traces may not say through this process: the keys that it is sent. */
import { rememberKey } from '../async/sent-keys.ts';

/** Names of headers whose values are keys; so are long values, such as that of `x-honeycomb-team`. */
const keyName = /auth|key|token|secret|pass|dsn/i;
const MIN_UNNAMED_KEY_LENGTH = 16;

/** Remembers the keys of the headers that OpenTelemetry sends, by its standard variables. */
export function rememberCollectorKeys(environment: NodeJS.ProcessEnv): void {
  for (const variable of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'])
    for (const header of environment[variable]?.split(',') ?? []) {
      const [name = '', ...rest] = header.split('=');
      const value = decoded(rest.join('=').trim());
      if (keyName.test(name) || value.length >= MIN_UNNAMED_KEY_LENGTH) rememberKey(value);
    }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/**
 * A problem that OpenTelemetry logs, which quotes the collector and may hold the headers: of an error only its type
 * and code, such as a status; of anything else nothing.
 */
export function problemKind(problem: string): string {
  const { name, code } = fieldsOf(problem);
  const words = [name, code].filter(
    (word): word is string => typeof word === 'string' && /^\w{1,60}$/.test(word),
  );
  return words.length === 0 ? 'a problem of OpenTelemetry' : words.join(' ');
}

function fieldsOf(text: string): { name?: unknown; code?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}
