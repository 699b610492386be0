import { joinMarkup, markup, noMarkup } from './markup.ts';
import type { Markup } from './markup.ts';
import type { EpochRow, RunData } from './run-data.ts';
import type { SampledEpoch } from './samples.ts';

const NO_SAMPLES =
  'No stored tasks to show: no epoch is committed yet, or their files are pruned or missing.';
const BROWSER_LEAD =
  'Some tasks of some epochs, chosen evenly from never to always solved: ' +
  'what the simulator was told and wrote, what the agent answered, and what came of it.';

/** The frame of the task browser; client/browser.js fills it. */
export function browser(epochs: readonly SampledEpoch[]): Markup {
  const samples = epochs.flatMap((epoch) => epoch.samples);
  if (samples.length === 0) return markup`<p class="quiet">${NO_SAMPLES}</p>`;
  const kinds = [...new Set(samples.map(({ kind }) => kind))].filter((kind) => kind !== '').sort();
  const last = epochs.at(-1)?.epoch;
  const epochOptions = epochs.map(({ epoch }) =>
    option(String(epoch), String(epoch), epoch === last ? markup` selected` : noMarkup),
  );
  const epochSelect = joinMarkup([
    markup`<span class="pair"><button type="button" id="previous-epoch" aria-label="previous epoch">‹</button>`,
    markup`<select name="epoch">${option('all', 'all')}${epochOptions}</select>`,
    markup`<button type="button" id="next-epoch" aria-label="next epoch">›</button></span>`,
  ]);
  const successRange = joinMarkup([
    markup`<span class="pair">${rateInput('low', '0', 'lowest success rate')} to `,
    markup`${rateInput('high', '1', 'highest success rate')}</span>`,
  ]);
  return markup`<p class="lead">${BROWSER_LEAD}</p>
<form class="panel filters" id="filters" autocomplete="off">
<label>Epoch ${epochSelect}</label>
<label>Kind ${select('kind', kinds)}</label>
<label>Task ${select('valid', ['valid', 'invalid'])}</label>
<label>Simulator’s update ${select('kept', ['kept', 'filtered'])}</label>
<label>Success ${successRange}</label>
<label class="grow">Text <input name="text" type="search" placeholder="in tasks, contexts and answers"></label>
<button type="reset">Reset</button>
</form>
<p class="quiet" id="sample-count" aria-live="polite"></p>
<div id="sample-list"></div>
<button type="button" id="more-samples" hidden>Show more</button>`;
}

const option = (value: string, label: string, attributes = noMarkup): Markup =>
  markup`<option value="${value}"${attributes}>${label}</option>`;

/** A choice among values, or all of them. */
const select = (name: string, values: readonly string[]): Markup =>
  markup`<select name="${name}">${option('', 'all')}${values.map((value) => option(value, value))}</select>`;

const rateInput = (name: string, value: string, label: string): Markup =>
  markup`<input name="${name}" type="number" min="0" max="1" step="0.05" value="${value}" aria-label="${label}">`;

export function epochsDetail({ experiment, forkedFrom }: RunData, rows: readonly EpochRow[]): string {
  const planned = experiment?.epochs;
  const last = rows.at(-1)?.epoch;
  if (planned === undefined) return 'committed';
  if ((last ?? 0) >= planned) return 'all committed';
  const parent = forkedFrom[0];
  return parent === undefined ? `of ${planned} committed` : `to epoch ${last ?? parent.epoch} of ${planned}`;
}
