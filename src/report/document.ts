import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Chart } from './charts/options.ts';
import { bundleClient } from './client-bundle.ts';
import { joinMarkup, Markup, markup, noMarkup } from './markup.ts';

/** The scripts and styles of a page. */
export interface Assets {
  /** The library of figures; null on a page without any. */
  echarts: string | null;
  style: string;
  scripts: string[];
}

/** Of a page with figures. @param scripts names of entry points in client/ */
export async function assets(...scripts: string[]): Promise<Assets> {
  const echarts = createRequire(import.meta.url).resolve('echarts/dist/echarts.min.js');
  return { ...(await plainAssets(...scripts)), echarts: await readFile(echarts, 'utf8') };
}

/** Of a page without figures. @param scripts names in client/ */
export async function plainAssets(...scripts: string[]): Promise<Assets> {
  const own = (name: string) => readFile(new URL(name, import.meta.url), 'utf8');
  return {
    echarts: null,
    style: await own('style.css'),
    scripts: await Promise.all(
      scripts.map((name) => bundleClient(new URL(`client/${name}`, import.meta.url))),
    ),
  };
}

export interface Section {
  id: string;
  /** In the navigation. */
  short: string;
  title: string;
  body: Markup;
}

interface Content {
  title: string;
  header: Markup;
  cards?: Markup;
  lead?: Markup;
  sections: Section[];
  footer: string;
  withoutScripts: string;
  /** JSON that the scripts read: `charts` is in the element `charts-data`. */
  data: Record<string, unknown>;
  assets: Assets;
}

/** A page of markup, with a navigation over its sections. */
export function document({
  title,
  header,
  cards = noMarkup,
  lead = noMarkup,
  sections,
  footer,
  ...page
}: Content): string {
  const body = markup`<header class="top">
${header}
</header>
<main>
${cards}
<nav>${sections.map(({ id, short }) => markup`<a href="#${id}">${short}</a>`)}</nav>
${lead}
${joinMarkup(sections.map(sectionMarkup), newline)}
</main>
<footer class="quiet">${footer}</footer>`;
  return htmlPage({ title, body, ...page });
}

/** A whole page: nothing in it is loaded from elsewhere, and no script runs in it but its own. */
export function htmlPage({
  title,
  body,
  withoutScripts,
  data,
  assets: { echarts, style, scripts },
}: Pick<Content, 'title' | 'withoutScripts' | 'data' | 'assets'> & { body: Markup }): string {
  const sources = [...(echarts === null ? [] : [echarts]), ...scripts].map(inlineScript);
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${securityPolicy(sources)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="genenv">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${Markup.trusted(style)}</style>
</head>
<body>
${body}
<noscript><p class="gaps">${withoutScripts}</p></noscript>
${joinMarkup(
  Object.entries(data).map(
    ([name, value]) =>
      markup`<script type="application/json" id="${name}-data">${Markup.trusted(inlineJson(value))}</script>`,
  ),
  newline,
)}
${joinMarkup(
  sources.map((source) => markup`<script>${Markup.trusted(source)}</script>`),
  newline,
)}
</body>
</html>
`.text;
}

const newline = Markup.trusted('\n');

/**
 * The page's own scripts run, by their hashes, and nothing else does, whatever finds its way into the page: no
 * other script, no request, no form. Figures set styles on elements.
 */
function securityPolicy(scripts: readonly string[]): string {
  const hashes = scripts.map((script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  return [
    "default-src 'none'",
    `script-src ${hashes.join(' ')}`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

const sectionMarkup = ({ id, title, body }: Section): Markup =>
  markup`<section id="${id}"><h2>${title}</h2>${body}</section>`;

export const figures = (charts: readonly Chart[]): Markup =>
  charts.length === 0 ? noMarkup : markup`<div class="figures">${charts.map(figure)}</div>`;

const figure = ({ id, title, caption, size }: Chart): Markup =>
  joinMarkup([
    markup`<figure class="panel ${size ?? ''}"><h3>${title}</h3>`,
    markup`<div class="chart" id="chart-${id}" role="img" aria-label="${title}"></div>`,
    markup`<figcaption>${caption}</figcaption></figure>`,
  ]);

/** JSON that may stand inside a script element: no `<`, so that nothing in it can end the element. */
const inlineJson = (value: unknown): string =>
  JSON.stringify(value)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');

/**
 * A script that may stand inside a script element. `</script` and `<!--` occur only in strings and patterns,
 * in which the escape changes nothing.
 */
const inlineScript = (source: string): string =>
  source.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
