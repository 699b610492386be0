import type { RandomStream } from '../../numerics/random.ts';
import { historyCharacters, historyDigits, historyPrompt } from '../history-digits.ts';
import type { TaskSpec, World } from '../world.ts';
import {
  chainAlphabet as alphabetOf,
  chainAnswer,
  chainPrompt,
  chainSpec,
  computeSteps,
  parseChain,
  parseSteps,
  readChainText,
} from './chain.ts';
import type { ChainOpsSettings } from './settings.ts';
import { chainAgentCorpus, chainSimulatorCorpus, randomChain } from './warm-up.ts';

/**
 * ChainOps: reasoning with written intermediate steps. A task is a chain of operations on a text, `RT:abcd`;
 * the answer writes the result of each, `dcba>cbad`. The last one decides; code computes it.
 */
export function createChainOps(settings: ChainOpsSettings): World {
  const alphabet = alphabetOf(settings);
  const { operations, symbols, maxDepth, maxLength } = alphabet;
  const warmUp = { ...settings.warmUp, baseDepths: settings.baseDepths, baseLengths: settings.baseLengths };
  const cells = Array.from({ length: maxDepth * (maxLength - 1) }, (_, cell) => ({
    depth: 1 + Math.floor(cell / (maxLength - 1)),
    length: 2 + (cell % (maxLength - 1)),
  }));
  const drawInCell = (random: RandomStream, { depth, length }: (typeof cells)[number]): TaskSpec =>
    chainSpec(randomChain(random, alphabet, [depth, depth], [length, length]));
  const referenceAnswer = (spec: string): string => chainAnswer(computeSteps(readChainText(spec), symbols));
  return {
    name: 'chainops',
    vocabulary: [...new Set([...historyCharacters, ...operations, ...':>'])].sort(),
    baseTasks: (random) =>
      Array.from({ length: settings.baseTasks }, () =>
        chainSpec(randomChain(random, alphabet, settings.baseDepths, settings.baseLengths)),
      ),
    heldOutTasks: (random) =>
      cells.flatMap((cell) =>
        Array.from({ length: settings.heldOutPerCell }, () => drawInCell(random, cell)),
      ),
    uniformTask: (random) => drawInCell(random, random.pick(cells)),
    environmentPrompt: (history, seedTask) =>
      historyPrompt(historyDigits(history, operations), seedTask, operations),
    parseTask: (text) => {
      const parsed = parseChain(text, alphabet);
      return 'chain' in parsed
        ? { valid: true, spec: chainSpec(parsed.chain) }
        : { valid: false, reason: parsed.reason };
    },
    agentPrompt: (spec) => chainPrompt(spec, alphabet),
    kind: (spec) => spec.slice(0, 1),
    difficultyUnit: 'operations × length',
    difficulty: (spec) => readChainText(spec).operations.length * readChainText(spec).text.length,
    latents: (spec) => ({
      depth: readChainText(spec).operations.length,
      length: readChainText(spec).text.length,
      operations: readChainText(spec).operations,
    }),
    score: (spec, answer) => {
      const chain = readChainText(spec);
      const steps = parseSteps(answer, chain, symbols);
      return {
        reward: steps?.at(-1) === computeSteps(chain, symbols).at(-1) ? 1 : 0,
        wellFormed: steps !== undefined,
      };
    },
    referenceAnswer,
    randomAnswer: (spec, random) => {
      const { operations: requested, text } = readChainText(spec);
      // Only U changes symbols, so a permutation of the text is the better guess.
      const randomStep = (): string =>
        (requested.includes('U')
          ? Array.from(text, () => random.pick(symbols))
          : random.shuffle([...text])
        ).join('');
      return chainAnswer(Array.from(requested, randomStep));
    },
    renderTask: (spec) => {
      const { operations: requested, text } = readChainText(spec);
      return {
        request: `Apply ${[...requested].map((operation) => operationNames[operation]).join(', then ')} to "${text}", writing every result.`,
        evaluation: { kind: 'last_step', answer: computeSteps(readChainText(spec), symbols).at(-1) },
      };
    },
    renderAnswer: (answer) => ({ steps: answer.split('>').slice(0, -1), answer: answer.split('>').at(-1) }),
    warmUpCorpus: (policy, rows, random) =>
      (policy === 'agent' ? chainAgentCorpus : chainSimulatorCorpus)(alphabet, warmUp, rows, random),
  };
}

const operationNames: Record<string, string> = {
  R: 'reverse',
  T: 'rotate left',
  U: 'next symbol',
  X: 'swap the ends',
};
