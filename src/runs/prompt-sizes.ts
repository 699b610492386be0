/** How long the prompts of an experiment are: those that its world makes of its own tasks. */
import { emptyHistory, shownHistory, updateHistory } from '../coevolution/agent-history.ts';
import type { AgentHistory } from '../coevolution/agent-history.ts';
import { historySettings } from '../config/experiment.ts';
import type { Experiment } from '../config/experiment.ts';
import { mean } from '../numerics/arithmetic.ts';
import { randomStream } from '../numerics/random.ts';
import type { World } from '../worlds/world.ts';

/** Tokens of the prompts of one kind. */
export interface PromptLengths {
  mean: number;
  longest: number;
}

export interface PromptSizes {
  simulator: PromptLengths;
  agent: PromptLengths;
  /** Asking again for a text that is no task; null if the world does not. */
  repair: PromptLengths | null;
  /** What the agent reads between its turns; null if there are none, or the simulator words it. */
  observation: PromptLengths | null;
}

export interface PromptTexts {
  simulator: string[];
  agent: string[];
  repair: string[];
  /** What the world says between the turns of right answers; none if the simulator words it. */
  observations: string[];
}

/** Tasks of a kind that are looked at: enough for a mean, and quick to tokenize. */
const MAX_TASKS = 256;
/** Characters of a token of English, code or JSON, if no tokenizer is at hand: a cautious figure. */
const CHARACTERS_PER_TOKEN = 3;

export const estimateTokens = (texts: readonly string[]): number[] =>
  texts.map((text) => Math.ceil(Buffer.byteLength(text) / CHARACTERS_PER_TOKEN));
/** A model from scratch has a token for every character. */
export const countCharacters = (texts: readonly string[]): number[] => texts.map((text) => text.length);

/**
 * Prompts that the run will send: each simulator prompt with an agent history that is empty and one that is
 * full, each agent prompt of base and held-out tasks. The simulator may write longer tasks than these.
 */
export function promptTexts(experiment: Experiment, world: World): PromptTexts {
  const base = world.baseTasks(randomStream(0)).slice(0, MAX_TASKS);
  const tasks = [...base, ...world.heldOutTasks(randomStream(0)).slice(0, MAX_TASKS)];
  const { arm, environment } = experiment;
  const full = shownHistory(fullHistory(experiment, world, base), experiment.history);
  const histories = [emptyHistory(), full];
  const exemplars = arm.type === 'best-of-n' ? base.slice(0, arm.exemplars) : [];
  const simulator = base.flatMap((task) =>
    histories.map((history) =>
      exemplars.length === 0 || world.exemplarPrompt === undefined
        ? world.environmentPrompt(history, task)
        : world.exemplarPrompt(
            history,
            task,
            exemplars.map((spec) => ({ spec, reward: 0.5 })),
          ),
    ),
  );
  const badText = 'x '.repeat((environment.sampling.maxTokens * CHARACTERS_PER_TOKEN) / 2);
  return {
    simulator,
    agent: tasks.map((task) => world.agentPrompt(task)),
    repair: simulator
      .map((prompt) => world.repairs?.prompt(prompt, badText, 'wrong_schema') ?? '')
      .filter(Boolean),
    observations: tasks.flatMap((task) => observationsOf(world, task)),
  };
}

/** What an agent reads that answers rightly, if the world says it and no simulator. */
function observationsOf(world: World, task: string): string[] {
  const { turns } = world;
  if (turns === undefined) return [];
  const actions = world.referenceAnswer(task).split('\n');
  return actions.flatMap((_, index) => {
    const played = actions.slice(0, index + 1);
    return turns.wordingPrompt(task, played) === null ? [turns.observe(task, played, null).text] : [];
  });
}

/** The history of an agent after a window of epochs: everything that a prompt can say is there. */
function fullHistory(experiment: Experiment, world: World, base: readonly string[]): AgentHistory {
  const { environment, history, agent } = experiment;
  const attempts = agent.rolloutsPerTask;
  const count = environment.promptsPerEpoch * environment.variationsPerPrompt;
  let full = emptyHistory();
  for (let epoch = 0; epoch < history.window; epoch++) {
    const outcomes = Array.from({ length: base.length === 0 ? 0 : count }, (_, index) => {
      const spec = base[index % base.length]!;
      const successes = index % 2 === 0 ? 0 : index % (attempts + 1);
      const signature = world.signature?.(spec);
      const failure = world.failure?.(spec, '');
      return {
        kind: world.kind(spec),
        difficulty: world.difficulty(spec),
        successes,
        attempts,
        ...(signature !== undefined && { signature }),
        ...(failure !== undefined && { failure }),
      };
    });
    full = updateHistory(full, outcomes, historySettings(experiment));
  }
  return full;
}

/** @param count tokens of each text */
export async function measurePrompts(
  texts: PromptTexts,
  count: (texts: readonly string[]) => readonly number[] | Promise<readonly number[]>,
): Promise<PromptSizes> {
  const lengths = async (prompts: readonly string[]): Promise<PromptLengths> => {
    const tokens = await count(prompts);
    return { mean: mean(tokens) ?? 0, longest: Math.max(0, ...tokens) };
  };
  return {
    simulator: await lengths(texts.simulator),
    agent: await lengths(texts.agent),
    repair: texts.repair.length === 0 ? null : await lengths(texts.repair),
    observation: texts.observations.length === 0 ? null : await lengths(texts.observations),
  };
}

/** The most tokens that a request of each role needs: its longest prompt with its answer, over all turns. */
export function longestRequests(
  { agent, environment }: Experiment,
  { turns }: Pick<World, 'turns'>,
  { simulator, agent: agentPrompts, repair, observation }: PromptSizes,
): { agent: number; environment: number } {
  const later = (turns?.limit ?? 1) - 1;
  const heard = observation?.longest ?? environment.sampling.maxTokens;
  return {
    agent: agentPrompts.longest + agent.sampling.maxTokens + later * (agent.sampling.maxTokens + heard),
    environment: Math.max(simulator.longest, repair?.longest ?? 0) + environment.sampling.maxTokens,
  };
}
