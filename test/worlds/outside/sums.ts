import type { RandomStream } from '../../../src/numerics/random.ts';
import type { World } from '../../../src/worlds/world.ts';

/** A world from outside, as a package would have it: sums of two numbers, `12+7=`. */
export function createWorld({ digits = 2, ...unknown }: { digits?: unknown }): World {
  if (typeof digits !== 'number' || !Number.isInteger(digits) || digits < 1 || digits > 6)
    throw new Error(`digits: got ${JSON.stringify(digits)}; expected a whole number from 1 to 6`);
  if (Object.keys(unknown).length > 0) throw new Error(`${Object.keys(unknown).join(', ')}: unknown`);
  const number = (random: RandomStream, length: number) => String(random.int(10 ** length));
  const sum = (random: RandomStream, length = 1 + random.int(digits)) =>
    `${number(random, length)}+${number(random, length)}`;
  const terms = (spec: string) => spec.split('+');
  const total = (spec: string) => String(terms(spec).reduce((subtotal, term) => subtotal + Number(term), 0));
  const size = (spec: string) => Math.max(...terms(spec).map(({ length }) => length));
  return {
    name: 'sums',
    vocabulary: [...'0123456789+=|'],
    baseTasks: (random) => Array.from({ length: 16 }, () => sum(random, digits)),
    heldOutTasks: (random) => Array.from({ length: 24 }, () => sum(random)),
    environmentPrompt: ({ success }, seedTask) =>
      `${Math.min(9, Math.floor(10 * (success ?? 0.5)))}|${seedTask}=`,
    parseTask: (text) =>
      /^(0|[1-9]\d*)\+(0|[1-9]\d*)$/.test(text) && size(text) <= digits
        ? { valid: true, spec: text }
        : { valid: false, reason: 'no_sum' },
    agentPrompt: (spec) => `${spec}=`,
    kind: () => 'sum',
    difficulty: size,
    latents: (spec) => ({ digits: size(spec) }),
    score: (spec, answer) => ({ reward: answer === total(spec) ? 1 : 0, wellFormed: /^\d+$/.test(answer) }),
    referenceAnswer: total,
    randomAnswer: (spec, random) => number(random, size(spec)),
    renderTask: (spec) => ({ request: `What is ${spec}?` }),
    renderAnswer: (answer) => ({ sum: answer }),
    *warmUpCorpus(policy, rows, random) {
      for (let row = 0; row < rows; row++) {
        const task = sum(random);
        yield policy === 'agent'
          ? { prompt: `${task}=`, completion: total(task) }
          : { prompt: `${random.int(10)}|${task}=`, completion: sum(random) };
      }
    },
  };
}
