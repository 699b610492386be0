import type { TestProcess } from '../../test-support/processes.ts';

/** Waits for the end of a process that ends by itself. @throws Error if it takes longer */
export async function endProcess(process: TestProcess, mostMs: number, what: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not end in ${mostMs} ms`)), mostMs);
  });
  try {
    await Promise.race([process.exited, late]);
  } finally {
    clearTimeout(timer);
  }
}
