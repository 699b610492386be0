import { ROUNDING } from '../coevolution/domain.ts';
import { deriveSeed } from '../coevolution/seeds.ts';
import type { CompletionRequest } from '../policies/policy-server.ts';
import type { Draft } from './drafts.ts';
import type { Phase } from './phase.ts';
import type { Ask } from './requests-in-turn.ts';
import { planRequests } from './sample.ts';

/**
 * Puts the labels that the simulator wrote itself to the vote of a solver that it does not train: the frozen initial agent. A task whose
 * label too few votes confirm is none. The votes are outside the rollout budget, and the task's tokens include them.
 */
export async function confirmLabels(
  ask: Ask,
  { experiment, world }: Phase,
  drafts: readonly Draft<unknown>[],
  solver: { model: string; seed: number },
): Promise<void> {
  const { vote } = world;
  if (vote === undefined) return;
  const {
    agent: { sampling },
    durability,
  } = experiment;
  for (const draft of drafts) draft.label = { votes: 0, agreeing: 0, disputed: false };
  const doubted = drafts.flatMap((draft) =>
    draft.parsed.valid && vote.needed(draft.parsed.spec) ? [{ draft, spec: draft.parsed.spec }] : [],
  );
  const planned = planRequests(doubted, durability.promptsPerRequest, (chunk, index): CompletionRequest => ({
    model: solver.model,
    prompts: chunk.map(({ spec }) => world.agentPrompt(spec)),
    n: vote.votes,
    seed: deriveSeed(solver.seed, 'vote', index),
    temperature: sampling.temperature,
    maxTokens: sampling.maxTokens,
  }));
  for (const { request, items } of planned) {
    const completions = await ask(request);
    for (const [row, { draft, spec }] of items.entries()) {
      const { agreeing, disputed } = vote.tally(
        spec,
        completions.filter(({ prompt }) => prompt === row).map(({ text }) => text),
      );
      draft.label = { votes: vote.votes, agreeing, disputed };
      if (agreeing < vote.agreement * vote.votes - ROUNDING)
        draft.parsed = { valid: false, reason: 'label_unconfirmed' };
    }
  }
}
