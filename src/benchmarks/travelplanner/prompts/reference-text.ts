import type { Reference } from '../data/train-sandbox.ts';
import { pythonRecords } from './python-text.ts';
import { tableText } from './table-text.ts';

/** Reference information of a task as the official sole-planning prompt has it: a Python list of descriptions and contents. */
export function referenceText(reference: Reference): string {
  return pythonRecords(
    Object.entries(reference).map(([Description, content]) => ({
      Description,
      Content: typeof content === 'string' ? content : tableText(content),
    })),
  );
}
