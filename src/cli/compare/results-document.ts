import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { atomicWrite } from '../../store/atomic-write.ts';

const line = '<!-- What stands below this line is written by people, and kept. -->';

/**
 * Writes the results to a document whose readers have added what they make of them, below a line that says
 * so, and beside it the summary that they come of.
 */
export async function writeResultsDocument(file: string, results: string, summary: string): Promise<void> {
  const before = existsSync(file) ? await readFile(file, 'utf8') : '';
  const [, written = '\n'] = before.split(line);
  await atomicWrite(file, `${results}\n${line}${written}`);
  await atomicWrite(summaryBeside(file), summary);
}

/** What is made by the command, in a document of results. */
export const resultsIn = (document: string): string => document.split(`\n${line}`)[0]!;

export const summaryBeside = (document: string): string => `${document.replace(/\.md$/, '')}.json`;
