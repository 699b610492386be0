import type { WorldSettings } from '../../contracts/experiment.ts';
import type { World } from '../world.ts';
import { alphabet as alphabetOf, callOf, parseCall, parseRequest, specOf } from './call.ts';
import { agentPrompt, environmentPrompt, historyDigits } from './prompts.ts';
import { encode, makeTools } from './tools.ts';
import { agentCorpus, environmentCorpus, randomCall } from './warm-up.ts';

/**
 * Toolbox: tool calling with tools whose codes the agent must learn. A task asks to call a tool for an argument; each tool
 * wants every symbol in its own hidden code, so `T:cafe` is answered by `T(dbgf)`. Exact match, decided by code.
 */
export function createToolbox(settings: Extract<WorldSettings, { type: 'toolbox' }>): World {
  const alphabet = alphabetOf(settings);
  const tools = makeTools(alphabet, settings.seed);
  const warmUp = { ...settings.warmUp, baseLengths: settings.baseLengths };
  const right = (spec: string): string => {
    const { tool, argument } = encode(tools, callOf(spec));
    return `${tool}(${argument})`;
  };
  return {
    name: 'toolbox',
    vocabulary: [...new Set([...'0123456789abcdefghijklmnopqrstuvwxyz', ...alphabet.tools, ...'HLF:|=_()'])].sort(),
    baseTasks: (random) => Array.from({ length: settings.baseTasks }, () => specOf(randomCall(random, alphabet, settings.baseLengths))),
    heldOutTasks: (random) => {
      const [from, to] = settings.heldOutLengths;
      const lengths = Array.from({ length: to - from + 1 }, (_, index) => from + index);
      return alphabet.tools.flatMap((tool) =>
        lengths.flatMap((length) => Array.from({ length: settings.heldOutPerCell }, () => specOf({ ...randomCall(random, alphabet, [length, length]), tool }))),
      );
    },
    environmentPrompt: (history, seedTask) => environmentPrompt(historyDigits(history, alphabet), seedTask, alphabet),
    parseTask: (text) => {
      const parsed = parseRequest(text, alphabet);
      return 'call' in parsed ? { valid: true, spec: specOf(parsed.call) } : { valid: false, reason: parsed.reason };
    },
    agentPrompt: (spec) => agentPrompt(spec, alphabet),
    kind: (spec) => callOf(spec).tool,
    difficulty: (spec) => callOf(spec).argument.length,
    latents: (spec) => ({ tool: callOf(spec).tool, length: callOf(spec).argument.length }),
    score: (spec, answer) => ({ reward: answer === right(spec) ? 1 : 0, wellFormed: parseCall(answer) !== undefined }),
    referenceAnswer: right,
    randomAnswer: (spec, random) => {
      const { tool, argument } = callOf(spec);
      return `${tool}(${[...argument].map(() => random.pick(alphabet.symbols)).join('')})`;
    },
    renderTask: (spec) => {
      const { tool, argument } = callOf(spec);
      return { request: `Call ${tool} for "${argument}".`, evaluation: { kind: 'exact_call', tool, argument } };
    },
    renderAnswer: (answer) => {
      const call = parseCall(answer);
      return call ? { tool: call.tool, args: { s: call.argument } } : { unparsable: answer };
    },
    warmUpCorpus: (policy, rows, random) => (policy === 'agent' ? agentCorpus(tools, alphabet, warmUp, rows, random) : environmentCorpus(alphabet, warmUp, rows, random)),
  };
}
