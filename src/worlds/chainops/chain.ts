import type { TaskSpec } from '../world.ts';

/** A request: apply these operations, from the left, to a text. Its canonical text is `RT:abca`. */
export interface Chain {
  operations: string;
  text: string;
}

export interface ChainAlphabet {
  operations: readonly string[];
  symbols: readonly string[];
  maxDepth: number;
  maxLength: number;
}

const operationLetters = [...'RTUX'];
const symbolLetters = [...'abcdefghi'];

export const chainAlphabet = (size: {
  operations: number;
  symbols: number;
  maxDepth: number;
  maxLength: number;
}): ChainAlphabet => ({
  operations: operationLetters.slice(0, size.operations),
  symbols: symbolLetters.slice(0, size.symbols),
  maxDepth: size.maxDepth,
  maxLength: size.maxLength,
});

export const chainSpec = ({ operations, text }: Chain): TaskSpec => `${operations}:${text}`;

/** Reads a canonical text; only for texts that `parseChain` has accepted. */
export function readChainText(spec: TaskSpec): Chain {
  const colon = spec.indexOf(':');
  return { operations: spec.slice(0, colon), text: spec.slice(colon + 1) };
}

/** Reads what the simulator wrote: 1 to maxDepth known operations, 2 to maxLength known symbols. */
export function parseChain(
  written: string,
  { operations, symbols, maxDepth, maxLength }: ChainAlphabet,
): { chain: Chain } | { reason: string } {
  if (written.length === 0) return { reason: 'empty' };
  const colon = written.indexOf(':');
  if (colon === -1) return { reason: 'unparsable' };
  const chain = { operations: written.slice(0, colon), text: written.slice(colon + 1) };
  if (chain.operations.length === 0) return { reason: 'no_operation' };
  if (chain.operations.length > maxDepth || chain.text.length > maxLength) return { reason: 'too_long' };
  if ([...chain.operations].some((operation) => !operations.includes(operation)))
    return { reason: 'unknown_operation' };
  // Reversing or rotating one symbol changes nothing.
  if (chain.text.length < 2) return { reason: 'too_short' };
  if ([...chain.text].some((symbol) => !symbols.includes(symbol))) return { reason: 'unknown_symbol' };
  return { chain };
}

/** One operation applied to a text. */
export function applyChain(operation: string, text: string, symbols: readonly string[]): string {
  switch (operation) {
    case 'R':
      return [...text].reverse().join('');
    case 'T':
      return text.slice(1) + text.slice(0, 1);
    case 'U':
      return [...text].map((symbol) => symbols[(symbols.indexOf(symbol) + 1) % symbols.length]!).join('');
    case 'X':
      return text.slice(-1) + text.slice(1, -1) + text.slice(0, 1);
    default:
      throw new RangeError(
        `operation must be one of ${operationLetters.join(', ')}, got ${JSON.stringify(operation)}`,
      );
  }
}

/**
 * The result of each operation, in order. `slip` may corrupt a step; the next step starts from the corrupted
 * one.
 */
export function computeSteps(
  { operations, text }: Chain,
  symbols: readonly string[],
  slip: (step: string) => string = (step) => step,
): string[] {
  const steps: string[] = [];
  for (const operation of operations) steps.push(slip(applyChain(operation, steps.at(-1) ?? text, symbols)));
  return steps;
}

/** Steps as an answer has them, `acba>cbaa`: the result of every operation, the last one being the answer. */
export const chainAnswer = (steps: readonly string[]): string => steps.join('>');

/** The steps of an answer; undefined unless there is one of the right length for each operation. */
export function parseSteps(
  answer: string,
  { operations, text }: Chain,
  symbols: readonly string[],
): string[] | undefined {
  const steps = answer.split('>');
  const isComplete =
    steps.length === operations.length &&
    steps.every(
      (step) => step.length === text.length && [...step].every((symbol) => symbols.includes(symbol)),
    );
  return isComplete ? steps : undefined;
}

/** The agent's prompt, operations and text in fixed slots: `RT_:abca=`. */
export function chainPrompt(spec: TaskSpec, { maxDepth, maxLength }: ChainAlphabet): string {
  const { operations, text } = readChainText(spec);
  return `${operations.padEnd(maxDepth, '_')}:${text.padEnd(maxLength, '_')}=`;
}
