import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Chart } from './charts/parts.ts';
import { html, inlineJson, inlineScript } from './format.ts';

/** What a page is drawn with. */
export interface Assets {
  echarts: string;
  style: string;
  scripts: string[];
}

/** @param scripts names in client/ */
export async function assets(...scripts: string[]): Promise<Assets> {
  const own = (name: string) => readFile(new URL(name, import.meta.url), 'utf8');
  const echarts = createRequire(import.meta.url).resolve('echarts/dist/echarts.min.js');
  return {
    echarts: await readFile(echarts, 'utf8'),
    style: await own('style.css'),
    scripts: await Promise.all(scripts.map((name) => own(`client/${name}`))),
  };
}

export interface Section {
  id: string;
  /** In the navigation. */
  short: string;
  title: string;
  body: string;
}

interface Content {
  title: string;
  header: string;
  cards?: string;
  lead?: string;
  sections: Section[];
  footer: string;
  withoutScripts: string;
  /** JSON that the scripts read: `charts` is in the element `charts-data`. */
  data: Record<string, unknown>;
  assets: Assets;
}

/** A whole page: nothing in it is loaded from elsewhere. */
export function document({
  title,
  header,
  cards = '',
  lead = '',
  sections,
  footer,
  withoutScripts,
  data,
  assets: { echarts, style, scripts },
}: Content): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="genenv">
<link rel="icon" href="data:,">
<title>${html(title)}</title>
<style>${style}</style>
</head>
<body>
<header class="top">
${header}
</header>
<main>
${cards}
<nav>${sections.map(({ id, short }) => `<a href="#${id}">${html(short)}</a>`).join('')}</nav>
${lead}
${sections.map(({ id, title: heading, body }) => `<section id="${id}"><h2>${html(heading)}</h2>${body}</section>`).join('\n')}
</main>
<footer class="quiet">${footer}</footer>
<noscript><p class="gaps">${withoutScripts}</p></noscript>
${Object.entries(data)
  .map(([name, value]) => `<script type="application/json" id="${name}-data">${inlineJson(value)}</script>`)
  .join('\n')}
<script>${inlineScript(echarts)}</script>
${scripts.map((script) => `<script>${inlineScript(script)}</script>`).join('\n')}
</body>
</html>
`;
}

export const figures = (charts: readonly Chart[]): string =>
  charts.length === 0
    ? ''
    : `<div class="figures">${charts.map(({ id, title, caption, size = '' }) => `<figure class="panel ${size}"><h3>${html(title)}</h3><div class="chart" id="chart-${id}" role="img" aria-label="${html(title)}"></div><figcaption>${html(caption)}</figcaption></figure>`).join('')}</div>`;
