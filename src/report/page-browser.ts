import { html } from './format.ts';
import type { SampledEpoch } from './samples.ts';

/** The frame of the task browser; client/browser.js fills it. */
export function browser(epochs: readonly SampledEpoch[]): string {
  if (epochs.every(({ samples }) => samples.length === 0))
    return '<p class="quiet">No stored tasks to show: no epoch is committed yet, or their files are pruned or missing.</p>';
  const kinds = [...new Set(epochs.flatMap(({ samples }) => samples.map(({ kind }) => kind)))]
    .filter((kind) => kind !== '')
    .sort();
  const option = (value: string, label: string) => `<option value="${html(value)}">${html(label)}</option>`;
  const last = epochs.at(-1)?.epoch;
  return `<p class="lead">Some tasks of some epochs, chosen evenly from never to always solved: what the simulator was told and wrote, what the agent answered, and what came of it.</p>
<form class="panel filters" id="filters" autocomplete="off">
<label>Epoch <span class="pair"><button type="button" id="previous-epoch" aria-label="previous epoch">‹</button><select name="epoch">${option('all', 'all')}${epochs.map(({ epoch }) => `<option value="${epoch}"${epoch === last ? ' selected' : ''}>${epoch}</option>`).join('')}</select><button type="button" id="next-epoch" aria-label="next epoch">›</button></span></label>
<label>Kind <select name="kind">${option('', 'all')}${kinds.map((kind) => option(kind, kind)).join('')}</select></label>
<label>Task <select name="valid">${option('', 'all')}${option('valid', 'valid')}${option('invalid', 'invalid')}</select></label>
<label>Simulator’s update <select name="kept">${option('', 'all')}${option('kept', 'kept')}${option('filtered', 'filtered')}</select></label>
<label>Success <span class="pair"><input name="low" type="number" min="0" max="1" step="0.05" value="0" aria-label="lowest success rate"> to <input name="high" type="number" min="0" max="1" step="0.05" value="1" aria-label="highest success rate"></span></label>
<label class="grow">Text <input name="text" type="search" placeholder="in tasks, contexts and answers"></label>
<button type="reset">Reset</button>
</form>
<p class="quiet" id="sample-count" aria-live="polite"></p>
<div id="sample-list"></div>
<button type="button" id="more-samples" hidden>Show more</button>`;
}
