import { lineageText } from '../runs/run-overview.ts';
import type { Card } from './cards.ts';
import type { Charts } from './charts/charts.ts';
import type { Chart } from './charts/options.ts';
import { document, figures, formatCount } from './document.ts';
import type { Assets } from './document.ts';
import type { Guard } from './guards.ts';
import { joinMarkup, markup, noMarkup } from './markup.ts';
import type { Markup } from './markup.ts';
import { browser } from './page-browser.ts';
import { guardTable, history, record } from './page-sections.ts';
import { trained } from './run-data.ts';
import type { RunData } from './run-data.ts';
import type { SampledEpoch } from './samples.ts';

export interface PageContent {
  run: RunData;
  /** Its own name; null if it could not be loaded. */
  worldName: string | null;
  state: { text: string; tone: 'good' | 'warn' | 'plain' };
  verdict: string[];
  cards: Card[];
  guards: Guard[];
  charts: Charts;
  /** Table of what the epochs have used, and cost. */
  costs: Markup;
  samples: SampledEpoch[];
  epochsPerPoint: number;
  writtenAt: string;
  assets: Assets;
}

/** The whole page: nothing in it is loaded from elsewhere. */
export function page(content: PageContent): string {
  const { run, state, charts, samples, assets } = content;
  const begun = trained(run.rows).length > 0;
  const sampleCount = samples.flatMap((epoch) => epoch.samples).length;
  const sections = [
    {
      id: 'frontier',
      short: 'Frontier',
      title: 'At the edge of its ability?',
      body: figures(charts.frontier),
    },
    { id: 'held-out', short: 'Learning', title: 'Did the agent learn?', body: figures(charts.heldOut) },
    {
      id: 'guards',
      short: 'Guards',
      title: 'Can the band be trusted?',
      body: begun ? joinMarkup([guardTable(content.guards), figures(charts.guards)]) : noMarkup,
    },
    { id: 'updates', short: 'Updates', title: 'Rewards and updates', body: figures(charts.updates) },
    {
      id: 'dropped',
      short: 'Dropped',
      title: 'What was dropped',
      body:
        begun && charts.dropped.length === 0
          ? markup`<p class="quiet">Nothing was invalid or filtered.</p>`
          : figures(charts.dropped),
    },
    { id: 'samples', short: 'Tasks', title: 'Tasks and answers', body: browser(samples) },
    {
      id: 'costs',
      short: 'Costs',
      title: 'Time, costs and pools',
      body: joinMarkup([content.costs, figures(charts.costs)]),
    },
    { id: 'history', short: 'History', title: 'What happened', body: history(run) },
    { id: 'record', short: 'Record', title: 'Experiment and ledger', body: record(run) },
  ].filter(({ body }) => !body.isEmpty);
  return document({
    title: `${run.runId} · GenEnv report`,
    header: markup`<p class="eyebrow">GenEnv co-evolution report</p>
<h1>${run.runId} <span class="pill ${state.tone}">${state.text}</span></h1>
<p class="quiet">${setting(run, content.worldName)}</p>
${origin(run)}<p class="verdict">${content.verdict.join(' ')}</p>
${warning(content.guards)}${gaps(run)}`,
    cards: markup`<div class="cards">${content.cards.map(card)}</div>`,
    lead:
      content.epochsPerPoint > 1
        ? markup`<p class="quiet">Each point of the figures is the mean of ${content.epochsPerPoint} epochs.</p>`
        : noMarkup,
    sections,
    footer:
      `Written ${content.writtenAt} by genenv, from the ledger and the store alone. ` +
      `${formatCount(sampleCount)} sampled tasks. Figures: Apache ECharts.`,
    withoutScripts: 'The figures and the task browser need JavaScript; the tables do not.',
    data: {
      charts: Object.fromEntries(
        (Object.values(charts).flat() as Chart[]).map(({ id, option }) => [id, option]),
      ),
      samples,
    },
    assets,
  });
}

function setting({ experiment }: RunData, worldName: string | null): string {
  if (experiment === null) return 'The settings could not be read.';
  const { arm, world, seed, agent, environment, name } = experiment;
  const tasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  const shape = `${tasks} tasks × ${agent.rolloutsPerTask} attempts an epoch`;
  return [
    name,
    arm.type === 'genenv' ? `arm genenv, preset ${arm.preset}` : `arm ${arm.type}`,
    `world ${world.type === 'external' ? (worldName ?? world.name) : world.type}`,
    shape,
    `seed ${seed}`,
  ].join(' · ');
}

/** The runs that it was forked from, and the reason if it failed. */
function origin({ forkedFrom, events }: RunData): Markup {
  const lines: Markup[] = [];
  const root = forkedFrom.at(-1);
  if (root !== undefined)
    lines.push(
      markup`<p class="quiet">This run was ${lineageText(forkedFrom)}; `,
      markup`epochs are counted from the start of ${root.run}.</p>\n`,
    );
  const end = events.findLast(({ type }) => ['started', 'resumed', 'rewound', 'ended'].includes(type));
  if (end?.outcome === 'failed') {
    const reason = end.reason ?? 'no reason is recorded';
    lines.push(markup`<p class="note warn">It failed: ${reason}</p>\n`);
  }
  return joinMarkup(lines);
}

function warning(guards: readonly Guard[]): Markup {
  const warned = guards.filter(({ state }) => state === 'warn');
  const judged = guards.filter(({ state }) => state === 'ok' || state === 'warn').length;
  if (judged === 0) return noMarkup;
  if (warned.length === 0)
    return joinMarkup([
      markup`<p class="note good">All ${judged} guards are quiet: `,
      markup`nothing measured here says that the curve is an artefact.</p>`,
    ]);
  const labels = warned.map(({ label }) => label).join(', ');
  return joinMarkup([
    markup`<p class="note warn"><b>${warned.length} of ${judged} guards warn</b>: ${labels}. `,
    markup`Read <a href="#guards">what they mean</a> before trusting the curve.</p>`,
  ]);
}

function gaps({ gaps: missing }: RunData): Markup {
  if (missing.length === 0) return noMarkup;
  const count = missing.length === 1 ? 'One thing' : `${missing.length} things`;
  const items = missing.map((gap) => markup`<li>${gap}</li>`);
  return markup`<details class="gaps"><summary>${count} could not be shown</summary><ul>${items}</ul></details>`;
}

const card = ({ label, value, detail, tone }: Card): Markup =>
  joinMarkup([
    markup`<div class="card ${tone}">`,
    markup`<span class="label">${label}</span>`,
    markup`<span class="value">${value}</span>`,
    markup`<span class="detail">${detail}</span></div>`,
  ]);
