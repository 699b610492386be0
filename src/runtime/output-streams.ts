/**
 * Lets this process live on if what it prints cannot be written: a full disk of logs loses lines, and no work.
 * Lines are written again when there is space.
 */
export function survivePrintFailures(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}
