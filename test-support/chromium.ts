import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';

const executablePath = '/usr/bin/chromium';
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Why tests in Chromium are skipped, for their names; empty if it is installed. */
export const chromiumMissing = existsSync(executablePath)
  ? ''
  : ` (skipped: ${executablePath} is missing; apt-get install -y chromium)`;

export const launchChromium = (): Promise<Browser> => chromium.launch({ executablePath, args });

/** Collects what a page complains of: errors and warnings of its console, and exceptions. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on(
    'console',
    (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()),
  );
  page.on('pageerror', (error) => complaints.push(error.message));
  return complaints;
}
