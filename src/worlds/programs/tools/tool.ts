import type { ValueType } from '../values.ts';

/** A tool as a row of its family's table. */
export interface ToolRow {
  parameters: Readonly<Record<string, ValueType>>;
  result: ValueType;
  /**
   * Ways to ask for its result. Each begins with words of its own and names every parameter once, so that
   * nested phrases have one reading, as in Polish notation. A test reads requests back and counts.
   */
  phrases: readonly string[];
  /** The order of its two arguments does not matter. */
  isCommutative?: true;
  /** Only held-out tasks ask for it. */
  isReserved?: true;
}

/** The tools of a family by their names. */
export type ToolTable = Readonly<Record<string, ToolRow>>;
