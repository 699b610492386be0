/** Colours of figures, by the style sheet in the reader's scheme. */
const style = (): CSSStyleDeclaration => getComputedStyle(document.documentElement);
const color = (name: string): string => style().getPropertyValue(`--${name}`).trim();

/** Replaces `$blue` by the style sheet's --blue, in fields that name a colour alone. */
export function withColors(value: unknown, field = ''): unknown {
  if (typeof value === 'string')
    return /color/i.test(field) && /^\$[a-z0-9-]+$/.test(value) ? color(value.slice(1)) : value;
  if (Array.isArray(value)) return value.map((item) => withColors(item, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withColors(item, name)]));
}

/** A theme of ECharts. */
export function chartTheme(): object {
  const font = { fontFamily: style().getPropertyValue('--sans') };
  const axis = {
    axisLine: { lineStyle: { color: color('rule') } },
    axisLabel: { color: color('muted'), fontSize: 11, ...font },
    nameTextStyle: { color: color('muted'), fontSize: 11 },
    splitLine: { lineStyle: { color: color('grid') } },
  };
  return {
    textStyle: { color: color('text'), ...font },
    legend: { textStyle: { color: color('muted'), fontSize: 12 }, inactiveColor: color('rule') },
    tooltip: {
      backgroundColor: color('panel'),
      borderColor: color('rule'),
      textStyle: { color: color('text'), fontSize: 12 },
      axisPointer: { lineStyle: { color: color('muted') } },
    },
    categoryAxis: { ...axis, splitLine: { show: false } },
    valueAxis: { ...axis, axisLine: { show: false } },
    logAxis: { ...axis, axisLine: { show: false } },
  };
}
