/** A number for people: three significant digits, or what is asked for; a dash where nothing was measured. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e7)
    return value.toExponential(1).replace('e+', 'e').replace('-', '−').replace('e-', 'e−');
  const text = size >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
  return text.replace('-', '−');
}

/** A rate with two decimals, so that columns line up. */
export const rate = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : value.toFixed(2);

export const percent = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : `${Math.round(100 * value)}\u202f%`;

/** A count with thin spaces between thousands. */
export const count = (value: number): string =>
  String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f');

export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const bytes = (size: number): string =>
  size < 1e3 ? `${size} B` : size < 1e6 ? `${(size / 1e3).toFixed(0)} kB` : `${(size / 1e6).toFixed(1)} MB`;

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
export const html = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => entities[character] ?? character);

/** JSON that may stand inside a script element: no `<`, so that nothing in it can end the element. */
export const inlineJson = (value: unknown): string =>
  JSON.stringify(value)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');

/** A script that may stand inside a script element: `</script` and `<!--` occur in strings and patterns only, where the escape changes nothing. */
export const inlineScript = (source: string): string =>
  source.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
