import { number } from '../report/format.ts';
import type { figures } from './figures.ts';
import type { FigureName } from './figures.ts';
import type { OverSeeds } from './over-seeds.ts';

type Ends = Pick<OverSeeds, 'mean' | 'low' | 'high'>;

/** A value of a figure as tables show it; a dash where nothing was measured. */
export function valueText(value: number | null | undefined, unit: (typeof figures)[FigureName]['unit'] = 'share'): string {
  if (value === null || value === undefined) return '–';
  if (unit === 'count') return String(Math.round(value)).replace('-', '−');
  if (unit === 'share') return value.toFixed(3).replace('-', '−');
  return unit === 'change' && value > 0 ? `+${number(value)}` : number(value);
}

/** `0.412 [0.380, 0.447]`, without an interval for a single seed. */
export function estimateText(estimate: Ends | null, unit: (typeof figures)[FigureName]['unit'] = 'share'): string {
  if (estimate === null) return '–';
  const { mean, low, high } = estimate;
  return low === null || high === null ? valueText(mean, unit) : `${valueText(mean, unit)} [${valueText(low, unit)}, ${valueText(high, unit)}]`;
}

/** A difference: bold where its interval leaves zero out. */
export function differenceText(difference: Ends | null, unit: (typeof figures)[FigureName]['unit'] = 'share'): string {
  if (difference === null) return '–';
  const { mean, low, high } = difference;
  const text = `${mean > 0 ? '+' : ''}${estimateText(difference, unit)}`;
  return low !== null && high !== null && (low > 0 || high < 0) ? `**${text}**` : text;
}
