import { maxRounds } from '../../config/experiment.ts';
import type { Experiment } from '../../config/experiment.ts';
import { serversApart } from '../../config/policy-servers.ts';
import type { Prices } from '../../config/prices.ts';
import { gpuHours, priceOf, sumUsage } from '../../runs/costs.ts';
import type { Cost, ServerUsage, Usage } from '../../runs/costs.ts';
import { workflowSettings } from '../../runs/settings-in-effect.ts';
import { actionsOfRound, heartbeatIntervalSeconds, planActions } from '../../runs/temporal-actions.ts';
import type { World } from '../../worlds/world.ts';
import { promptTokensRead } from './estimates.ts';
import type { RunEstimate } from './estimates.ts';
import { countText } from './text.ts';

/**
 * The most that a run uses: its parts are its epochs, the preparation first, and last what belongs to none.
 * Tokens are spread evenly over the epochs, since their upper limit is one of the run.
 */
export function estimateUsage(
  experiment: Experiment,
  world: World,
  { resources, prompts }: RunEstimate,
  prices?: Prices,
): Usage[] {
  const forkedAt = experiment.startFrom?.epoch ?? 0;
  const settings = workflowSettings(experiment, world);
  const planned = planActions(settings, forkedAt);
  const furtherRounds = (maxRounds(experiment) - 1) * actionsOfRound(settings);
  const epochs = Math.max(1, planned.epochs.length - 1);
  const tokensSampled = resources.tokens / epochs;
  const tokensRead = (promptTokensRead(resources.prompts, prompts) + resources.embeddedTokens) / epochs;
  const servers = serverEstimate(experiment, { resources, prompts }, epochs);
  const hours = (perSecond: number | undefined): number | null =>
    perSecond === undefined ? null : tokensSampled / perSecond / 3600;
  const nothing = { tokensSampled: 0, tokensRead: 0, servingHours: 0, trainingHours: 0 };
  return [...planned.epochs, planned.run].map((actions, index) =>
    index === 0 || index === planned.epochs.length
      ? { actions, ...nothing }
      : {
          actions: actions + furtherRounds,
          ...(servers && { servers }),
          tokensSampled,
          tokensRead,
          servingHours: hours(prices?.speed?.tokensSampledPerSecond),
          trainingHours: hours(prices?.speed?.tokensTrainedPerSecond),
        },
  );
}

/** An epoch's part of each server apart; undefined without any. */
function serverEstimate(
  experiment: Experiment,
  { resources, prompts }: Pick<RunEstimate, 'resources' | 'prompts'>,
  epochs: number,
): ServerUsage | undefined {
  const { simulator, agent, repair } = prompts;
  const sent = resources.prompts;
  const run: Required<ServerUsage> = {
    simulator: {
      tokensSampled: resources.simulatorTokens,
      tokensRead: sent.simulator * simulator.mean + sent.repair * (repair?.mean ?? 0),
    },
    wording: { tokensSampled: resources.wordingTokens, tokensRead: sent.wording * simulator.mean },
    solver: { tokensSampled: resources.voteTokens, tokensRead: sent.vote * agent.mean },
    similarity: { tokensSampled: 0, tokensRead: resources.embeddedTokens },
  };
  const servers = serversApart(experiment).map(({ use }) => {
    const { tokensSampled, tokensRead } = run[use];
    return [use, { tokensSampled: tokensSampled / epochs, tokensRead: tokensRead / epochs }] as const;
  });
  return servers.length === 0 ? undefined : Object.fromEntries(servers);
}

/** What a run would cost, for people: all of it, and an epoch. */
export function costLines(
  experiment: Experiment,
  world: World,
  estimate: RunEstimate,
  prices?: Prices,
): string[] {
  const usage = estimateUsage(experiment, world, estimate, prices);
  const epoch = sumUsage(usage.slice(1, -1));
  const share = Math.max(1, usage.length - 2);
  return [
    ...usageLines(sumUsage(usage), prices),
    `an epoch    ${countText(epoch.actions / share)} actions, ${countText(epoch.tokensSampled / share)} tokens` +
      (prices === undefined ? '' : `, ${moneyText(priceOf(epoch, prices).total / share, prices)}`),
  ];
}

/** A usage and its price, for people. */
export function usageLines(usage: Usage, prices?: Prices): string[] {
  const hours = gpuHours(usage, prices?.gpus);
  const gpuText =
    hours === null
      ? 'not known before a run; `speed` in a prices file says what an earlier run reached'
      : `about ${hours.toFixed(1)}, by the speeds of the prices file`;
  return [
    ...Object.entries(usage.servers ?? {}).map(
      ([use, { tokensSampled, tokensRead }]) =>
        `${use.padEnd(11)} ${countText(tokensSampled)} tokens sampled and about ${countText(tokensRead)} read by its own server, of those above`,
    ),
    `actions     ${countText(usage.actions)} of Temporal, if nothing is tried again; heartbeats come on top, at most one each ${heartbeatIntervalSeconds} s of an activity`,
    `GPU hours   ${gpuText}`,
    ...(prices === undefined ? [] : [moneyLine(priceOf(usage, prices), prices)]),
  ];
}

function moneyLine(cost: Cost, prices: Prices): string {
  const parts = (['actions', 'tokens', 'gpu'] as const).flatMap((kind) => {
    const value = cost[kind];
    return value === null ? [] : [`${kind === 'gpu' ? 'GPU' : kind} ${value.toFixed(2)}`];
  });
  const unpriced = parts.length === 0 ? 'nothing here has a price' : parts.join(', ');
  return `cost        ${moneyText(cost.total, prices)} (${unpriced}), prices of ${prices.date}: ${prices.source}`;
}

const moneyText = (amount: number, { currency }: Prices): string => `${amount.toFixed(2)} ${currency}`;
