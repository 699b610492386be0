import type { RandomStream } from '../../numerics/random.ts';
import { historyCharacters, historyDigits, historyPrompt } from '../history-digits.ts';
import type { TaskSpec, World } from '../world.ts';
import {
  callAnswer,
  callSpec,
  countLookUps,
  createToolCodes,
  eachSymbol,
  encode,
  parseCall,
  parseRequest,
  referenceCall,
  splitArguments,
  toolboxAlphabet as alphabetOf,
  toolboxPrompt,
} from './call.ts';
import type { ToolboxCall } from './call.ts';
import type { ToolboxSettings } from './settings.ts';
import { randomCall, toolboxAgentCorpus, toolboxSimulatorCorpus } from './warm-up.ts';

/**
 * Toolbox: tool calling with tools whose codes the agent must learn. A task asks to call a tool for an
 * argument; each tool wants every symbol in its own hidden code, so `T:cafe` is answered by `T(dbgf)`. Exact
 * match, decided by code.
 */
export function createToolbox(settings: ToolboxSettings): World {
  const alphabet = alphabetOf(settings);
  const { coinFlips, maxDepth, maxArguments } = alphabet;
  const codes = createToolCodes(alphabet, settings.seed);
  const warmUp = { ...settings.warmUp, baseLengths: settings.baseLengths };
  // A random verdict measures no skill: the held-out grid has no coin-flip tools.
  const honest = { ...alphabet, tools: alphabet.tools.filter((tool) => !coinFlips.has(tool)) };
  const cells = honest.tools.flatMap((tool) =>
    span(...settings.heldOutLengths).flatMap((length) =>
      span(1, maxDepth).map((depth) => ({ tool, length, depth })),
    ),
  );
  const drawInCell = (random: RandomStream, { tool, length, depth }: (typeof cells)[number]): TaskSpec => {
    const call = randomCall(random, honest, [length, length], depth);
    return callSpec({ ...call, tools: tool + call.tools.slice(1) });
  };
  const referenceAnswer = (spec: string): string => callAnswer(encode(codes, referenceCall(spec)));
  return {
    name: 'toolbox',
    vocabulary: [
      ...new Set([...historyCharacters, ...alphabet.tools, ...':()', ...(maxArguments > 1 ? ',' : '')]),
    ].sort(),
    baseTasks: (random) =>
      Array.from({ length: settings.baseTasks }, () =>
        callSpec(randomCall(random, alphabet, settings.baseLengths)),
      ),
    heldOutTasks: (random) =>
      cells.flatMap((cell) =>
        Array.from({ length: settings.heldOutPerCell }, () => drawInCell(random, cell)),
      ),
    uniformTask: (random) => drawInCell(random, random.pick(cells)),
    taskAt: (difficulty, random) => {
      const length = Math.max(1, Math.min(alphabet.maxLength, Math.round(difficulty)));
      return callSpec(randomCall(random, alphabet, [length, length], 1));
    },
    environmentPrompt: (history, seedTask) =>
      historyPrompt(historyDigits(history, alphabet.tools), seedTask, alphabet.tools),
    parseTask: (text) => {
      const parsed = parseRequest(text, alphabet);
      return 'call' in parsed
        ? { valid: true, spec: callSpec(parsed.call) }
        : { valid: false, reason: parsed.reason };
    },
    agentPrompt: (spec) => toolboxPrompt(spec, alphabet),
    kind: (spec) => spec.slice(0, 1),
    difficulty: (spec) => countLookUps(referenceCall(spec)),
    difficultyUnit: 'symbols',
    latents: (spec) => {
      const call = referenceCall(spec);
      return {
        tool: call.tools.slice(0, 1),
        length: call.argument.length,
        ...(maxDepth > 1 && { depth: call.tools.length }),
        ...(maxArguments > 1 && { arguments: splitArguments(call).length }),
      };
    },
    score: (spec, answer, chance) => {
      const wellFormed = parseCall(answer, alphabet) !== undefined;
      if (![...referenceCall(spec).tools].some((tool) => coinFlips.has(tool)))
        return { reward: answer === referenceAnswer(spec) ? 1 : 0, wellFormed };
      if (chance === undefined)
        throw new Error(`${spec} asks a coin-flip tool, whose verdict needs the rollout's chance`);
      return { reward: chance.next() < 0.5 ? 1 : 0, wellFormed };
    },
    referenceAnswer,
    hasUniqueAnswers: true,
    randomAnswer: (spec, random) => {
      const { tools: letters, argument } = referenceCall(spec);
      return callAnswer({
        tools: letters,
        argument: eachSymbol(argument, () => random.pick(alphabet.symbols)),
      });
    },
    renderTask: (spec) => renderTask(referenceCall(spec)),
    renderAnswer: (answer) => {
      const call = parseCall(answer, alphabet);
      return call ? renderCall(call) : { unparsable: answer };
    },
    warmUpCorpus: (policy, rows, random) =>
      policy === 'agent'
        ? toolboxAgentCorpus({ alphabet, codes }, warmUp, rows, random)
        : toolboxSimulatorCorpus(alphabet, warmUp, rows, random),
  };
}

const span = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

function renderTask(call: ToolboxCall): object {
  const parts = splitArguments(call);
  const [outer = '', ...inner] = call.tools;
  const request = `Call ${[outer, ...inner].join(' on the result of ')} for ${parts.map((part) => `"${part}"`).join(', ')}.`;
  if (inner.length === 0 && parts.length === 1)
    return { request, evaluation: { kind: 'exact_call', tool: outer, argument: call.argument } };
  return { request, evaluation: { kind: 'exact_call', tools: [outer, ...inner], arguments: parts } };
}

function renderCall({ tools, argument }: ToolboxCall): object {
  const parts = argument.split(',');
  const innermost: object = { s: parts.length === 1 ? argument : parts };
  return [...tools].reduceRight(
    (args, tool, index) => ({ tool, args: index === tools.length - 1 ? args : { call: args } }),
    innermost,
  );
}
