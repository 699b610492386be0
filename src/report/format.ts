/** Numbers as people read them. */

/** A number with three significant digits, or as many as `digits` says; a dash if nothing was measured. */
export function formatNumber(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e7)
    return value.toExponential(1).replace('e+', 'e').replace('-', '−').replace('e-', 'e−');
  const text = size >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
  return text.replace('-', '−');
}

/** A number with so many decimals; a dash if nothing was measured. */
export const formatFixed = (value: number | null | undefined, decimals = 2): string =>
  value === null || value === undefined ? '–' : value.toFixed(decimals).replace('-', '−');

/** A rate with two decimals, so that columns line up. */
export const formatRate = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : value.toFixed(2);

export const formatPercent = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : `${Math.round(100 * value)}\u202f%`;

/** A count with thin spaces between thousands. */
export const formatCount = (value: number): string =>
  String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f');

export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function formatBytes(size: number): string {
  if (size < 1e3) return `${size} B`;
  return size < 1e6 ? `${(size / 1e3).toFixed(0)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}
