import type { Comparison } from '../contracts/comparisons.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import type { Ports } from './ports.ts';

/** A comparison that was begun. @throws InvalidConfig where its file is gone */
export async function readComparison({ comparisonFolder }: Ports, id: string): Promise<Comparison> {
  const folder = comparisonFolder(id);
  const found = await folder.read();
  if (found === undefined)
    throw new InvalidConfig(
      `comparison: ${folder.comparisonFile} is missing; start the comparison again with its file`,
    );
  return found.comparison;
}
