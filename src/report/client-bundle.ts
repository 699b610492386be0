import { fileURLToPath } from 'node:url';

const bundles = new Map<string, Promise<string>>();

/**
 * A script of a page with all that it imports, for browsers of the last years. It is bundled when it is first
 * asked for, in a tenth of a second, so there is no build that could be stale.
 * @param entry file of the entry point
 */
export function bundleClient(entry: URL): Promise<string> {
  const bundle = bundles.get(entry.href) ?? bundleOnce(entry);
  bundles.set(entry.href, bundle);
  return bundle;
}

async function bundleOnce(entry: URL): Promise<string> {
  // Workers and most commands import pages, and bundle nothing.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    write: false,
    format: 'iife',
    minify: true,
    charset: 'utf8',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
