import { expectation } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

/** The fields of a schema as a Markdown table, for docs/experiment-files.md. */
export function fieldTable(schema: JsonSchema): string {
  const rows = [...fields(schema, '')].map(
    ({ path, allowed, fallback, description }) =>
      `| \`${path}\` | ${allowed} | ${fallback} | ${description} |`,
  );
  return ['| field | allowed | default | meaning |', '| --- | --- | --- | --- |', ...rows, '']
    .join('\n')
    .replaceAll('\u00a0', ' ');
}

interface Row {
  path: string;
  allowed: string;
  fallback: string;
  description: string;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function* fields(node: JsonSchema, path: string): Generator<Row> {
  const required = new Set(node.required);
  for (const [key, property] of Object.entries(node.properties ?? {})) {
    if (key === '$schema' || property.const !== undefined) continue;
    const at = `${path}${key}`;
    const fallback =
      property.default === undefined
        ? required.has(key)
          ? 'required'
          : ''
        : `\`${JSON.stringify(property.default)}\``;
    yield {
      path: at,
      allowed: cell(expectation(property).replace(/^(allowed: |expected )/, '')),
      fallback,
      description: cell(property.description ?? ''),
    };
    yield* below(property, at);
  }
}

function* below(node: JsonSchema, path: string): Generator<Row> {
  yield* fields(node, `${path}.`);
  for (const one of node.anyOf ?? []) yield* below(one, path);
  for (const one of node.oneOf ?? []) yield* fields(one, `${path} (${String(one.properties?.type?.const)}).`);
}
