import { number } from '../report/format.ts';
import { measured } from '../report/run-data.ts';
import type { figures } from './figures.ts';
import type { FigureName } from './figures.ts';
import { sideOf } from './over-seeds.ts';
import type { OverSeeds } from './over-seeds.ts';

type Ends = Pick<OverSeeds, 'mean' | 'low' | 'high'>;

/** A value of a figure as tables show it; a dash where nothing was measured. */
export function valueText(
  value: number | null | undefined,
  unit: (typeof figures)[FigureName]['unit'] = 'share',
): string {
  if (value === null || value === undefined) return '–';
  if (unit === 'count') return String(Math.round(value)).replace('-', '−');
  if (unit === 'share') return value.toFixed(3).replace('-', '−');
  return unit === 'change' && value > 0 ? `+${number(value)}` : number(value);
}

/** `18856 to 19440`, of what was measured. */
export function rangeText(
  values: readonly (number | null)[],
  unit: (typeof figures)[FigureName]['unit'],
): string {
  const present = measured(values);
  const [least, most] = [Math.min(...present), Math.max(...present)].map((value) => valueText(value, unit));
  if (present.length === 0) return '–';
  return least === most ? least! : `${least} to ${most}`;
}

/** `0.412 [0.380, 0.447]`, without an interval for a single seed. */
export function estimateText(
  estimate: Ends | null,
  unit: (typeof figures)[FigureName]['unit'] = 'share',
): string {
  if (estimate === null) return '–';
  const { mean, low, high } = estimate;
  return low === null || high === null
    ? valueText(mean, unit)
    : `${valueText(mean, unit)} [${valueText(low, unit)}, ${valueText(high, unit)}]`;
}

/** A difference: bold where both of its intervals leave zero out. */
export function differenceText(
  difference: OverSeeds | null,
  unit: (typeof figures)[FigureName]['unit'] = 'share',
): string {
  if (difference === null) return '–';
  const text = `${difference.mean > 0 ? '+' : ''}${estimateText(difference, unit)}`;
  return Math.abs(sideOf(difference) ?? 0) === 1 ? `**${text}**` : text;
}
