/** One value of Prometheus's text format. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface MetricFamily {
  name: string;
  type: string;
  help: string;
}

/** What a scrape has brought. */
export class Samples {
  readonly all: readonly Sample[];
  readonly families: readonly MetricFamily[];

  constructor(all: readonly Sample[], families: readonly MetricFamily[]) {
    this.all = all;
    this.families = families;
  }

  has(name: string, labels: Record<string, string> = {}): boolean {
    return this.#select(name, labels).length > 0;
  }

  /** Of all samples with this name, and these labels among theirs; 0 if there are none. */
  sum(name: string, labels: Record<string, string> = {}): number {
    return this.#select(name, labels).reduce((sum, { value }) => sum + value, 0);
  }

  #select(name: string, labels: Record<string, string>): Sample[] {
    return this.all.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  }
}

/** Parses Prometheus's text format. @throws Error for a line that is none of it */
export function readSamples(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '');
  const families = lines
    .filter((line) => line.startsWith('# TYPE '))
    .map((line) => {
      const [, , name = '', type = ''] = line.split(' ');
      const help = lines.find((candidate) => candidate.startsWith(`# HELP ${name} `)) ?? '';
      return { name, type, help: help.slice(`# HELP ${name} `.length) };
    });
  const samples = lines
    .filter((line) => !line.startsWith('#'))
    .map((line) => {
      const parts = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (parts === null) throw new Error(`not Prometheus's text format: ${line}`);
      const [, name = '', labels = '', value] = parts;
      return {
        name,
        labels: Object.fromEntries(
          [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [
            label,
            text,
          ]),
        ),
        value: Number(value),
      };
    });
  return new Samples(samples, families);
}
