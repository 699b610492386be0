import type { NativeConnection } from '@temporalio/worker';
import { searchAttributeKeys } from '../workflows/search-attributes.ts';

const indexedValueTypes: Record<string, number> = { KEYWORD: 2, INT: 3, DOUBLE: 4 };

/** Registers what the workflows upsert; false, and said, where this worker may not. */
export async function registerSearchAttributes(
  connection: NativeConnection,
  namespace: string,
  say: (message: string) => void,
): Promise<boolean> {
  const keys = Object.values(searchAttributeKeys);
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = keys.filter(({ name }) => customAttributes[name] === undefined);
    if (missing.length > 0) {
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(
          missing.map(({ name, type }) => [name, indexedValueTypes[type]!]),
        ),
      });
    }
    return true;
  } catch (error) {
    say(
      `runs without search attributes, which could not be registered: ${error instanceof Error ? error.message : String(error)}`,
    );
    return false;
  }
}
