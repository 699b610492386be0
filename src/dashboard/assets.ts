import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { bundleClient } from '../report/client-bundle.ts';

export interface Asset {
  type: string;
  read: () => Promise<string>;
}

const file = (url: URL | string): Promise<string> => readFile(url, 'utf8');

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>GenEnv dashboard</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<div id="page"></div>
<noscript><p class="gaps">The dashboard needs JavaScript.</p></noscript>
<script src="/echarts.js"></script>
<script src="/app.js"></script>
</body>
</html>
`;

/** What the dashboard's page consists of, by path. */
export const assets: Record<string, Asset> = {
  '/': { type: 'text/html; charset=utf-8', read: () => Promise.resolve(page) },
  '/app.js': {
    type: 'text/javascript; charset=utf-8',
    read: () => bundleClient(new URL('client/app.tsx', import.meta.url)),
  },
  '/echarts.js': {
    type: 'text/javascript; charset=utf-8',
    read: () => file(createRequire(import.meta.url).resolve('echarts/dist/echarts.min.js')),
  },
  '/style.css': {
    type: 'text/css; charset=utf-8',
    read: async () =>
      (await file(new URL('../report/style.css', import.meta.url))) +
      (await file(new URL('client/dashboard.css', import.meta.url))),
  },
};

/** Headers of every answer: the page's own scripts run, and nothing else does, whatever finds its way into it. */
export const securityHeaders: Record<string, string> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    // Figures set styles on elements.
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Of a report in a folder of results, which anybody who shares the disk may have written: it has no origin. */
export const reportPolicy =
  "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";
