// @ts-nocheck Runs in the browser, without a build; test/report/page.test.ts runs it there.
/* global document, window, echarts, clearTimeout, getComputedStyle, addEventListener, matchMedia */
// Draws the figures in the reader's colour scheme, again when it changes, and in the light one on paper.
(() => {
  const options = JSON.parse(document.getElementById('charts-data').textContent);
  const style = () => getComputedStyle(document.documentElement);
  const color = (name) => style().getPropertyValue(`--${name}`).trim();

  // `$blue` is the style sheet's --blue; nothing but colours is looked up.
  const withColors = (value, key = '') => {
    if (typeof value === 'string')
      return /color/i.test(key) && /^\$[a-z0-9-]+$/.test(value) ? color(value.slice(1)) : value;
    if (Array.isArray(value)) return value.map((item) => withColors(item, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withColors(field, name)]));
  };

  const short = (value) =>
    typeof value !== 'number'
      ? '–'
      : Math.abs(value) >= 1000
        ? String(Math.round(value))
        : String(Number(value.toPrecision(4)));

  const theme = () => {
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
  };

  const heatTip =
    (option) =>
    ({ value, seriesName }) =>
      `${option.xAxis.name ?? 'epoch'} ${option.xAxis.data[value[0]]}, ${option.yAxis.name ?? ''} ${option.yAxis.data[value[1]]}: <b>${short(value[2])}</b> ${seriesName}`;
  const escape = (text) =>
    text.replace(/[&<>]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[character]);

  const drawn = [];
  const draw = () => {
    for (const chart of drawn.splice(0)) chart.dispose();
    echarts.registerTheme('genenv', theme());
    for (const [id, plain] of Object.entries(options)) {
      const element = document.getElementById(`chart-${id}`);
      const option = withColors(plain);
      const heat = option.series[0].type === 'heatmap';
      Object.assign(
        option.tooltip,
        heat
          ? { formatter: (cell) => escape(heatTip(option)(cell)).replace(/&lt;(\/?b)&gt;/g, '<$1>') }
          : { valueFormatter: short },
      );
      if (option.yAxis.type === 'log')
        option.yAxis.axisLabel = {
          formatter: (value) => value.toExponential().replace('e+', 'e').replace('e-', 'e−'),
        };
      for (const series of option.series) series.emphasis = { disabled: true };
      const chart = echarts.init(element, 'genenv', { renderer: 'svg' });
      chart.setOption(option);
      // A click on an epoch opens it in the browser of tasks.
      chart.getZr().on('click', ({ offsetX, offsetY }) => {
        if (!chart.containPixel('grid', [offsetX, offsetY]) || (option.xAxis.name ?? 'epoch') !== 'epoch')
          return;
        const [column] = chart.convertFromPixel('grid', [offsetX, offsetY]);
        document.dispatchEvent(
          new window.CustomEvent('epoch', { detail: Number(option.xAxis.data[Math.round(column)]) }),
        );
      });
      drawn.push(chart);
    }
  };

  draw();
  const resize = () => drawn.forEach((chart) => chart.resize());
  let waiting;
  addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(resize, 80);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  const paper = (on) => {
    document.documentElement.classList.toggle('paper', on);
    draw();
  };
  addEventListener('beforeprint', () => paper(true));
  addEventListener('afterprint', () => paper(false));
})();
