import { readFile } from 'node:fs/promises';
import { arch, cpus, platform } from 'node:os';

/** Vector instructions by which libraries choose their kernels, widest first. */
const vectorFlags = ['avx512f', 'avx2'];

/**
 * The kind of this machine, as far as it is known to decide which bits models come out as: system, processor, and
 * its vector instructions. Virtual machines often hide the processor's name, so Linux is asked for its numbers too.
 */
export async function machineKind(): Promise<string> {
  const cpuinfo = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  return `${platform()} ${arch()}, ${processorText(cpus()[0]?.model, cpuinfo)}`.slice(0, 200);
}

/**
 * `AMD EPYC (family 25, model 1, avx2)`; the name alone where `/proc/cpuinfo` lacks the numbers.
 * @param cpuinfo text of `/proc/cpuinfo`, or empty
 */
export function processorText(name: string | undefined, cpuinfo: string): string {
  const field = (key: string): string | undefined =>
    new RegExp(`^${key}\\s*: (.+)$`, 'm').exec(cpuinfo)?.[1]?.trim();
  const [family, model] = [field('cpu family'), field('model')];
  const flags = (field('flags') ?? '').split(' ');
  const details = [
    family && `family ${family}`,
    model && `model ${model}`,
    vectorFlags.find((flag) => flags.includes(flag)),
  ].filter((detail) => detail !== undefined);
  const text = `${name ?? 'unknown processor'}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  return text.replace(/[^ -;=?-Z^_a-{}~]/g, ' ').trim();
}
