import { Ajv } from 'ajv';
import { readFileSync } from 'node:fs';

const { kinds, ...schemas } = JSON.parse(
  readFileSync(new URL('../test/contract/kubernetes/schemas.json', import.meta.url), 'utf8'),
) as { kinds: Record<string, string>; definitions: Record<string, object> };

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ ...schemas, $id: 'kubernetes' });

/** What the schemas of Kubernetes and KEDA say against an object: unknown and wrong fields, by their places. */
export function schemaProblems(object: unknown): string[] {
  const { kind = '' } = object as { kind?: string };
  const definition = kinds[kind];
  if (definition === undefined) return [`no schema of ${JSON.stringify(kind)}`];
  const validate = ajv.getSchema(`kubernetes#/definitions/${definition}`)!;
  if (validate(object) === true) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message = '', params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
