/**
 * Seconds of processor time that this process spends on `work`: what else the machine does does not count.
 * For tests that hostile input is read in a time that grows with its length, not with its square or worse;
 * their bounds are many times what the work takes. Speed itself is measured by `npm run bench`.
 */
export async function cpuSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
