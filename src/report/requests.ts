import { joinMarkup, markup, noMarkup } from './markup.ts';
import type { Markup } from './markup.ts';
import type { ReportEvent } from './run-data.ts';

/** Who asked for what, oldest first; empty if nothing is recorded. */
export function requestTable(events: readonly ReportEvent[]): Markup {
  const requests = events.filter(({ type }) => type === 'requested');
  if (requests.length === 0) return noMarkup;
  const rows = requests.map(({ at, request = '', identity = '' }) =>
    joinMarkup([
      markup`<tr><td class="figure">${at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}</td>`,
      markup`<td>${request}</td><td>${identity}</td></tr>`,
    ]),
  );
  return markup`<div class="panel scroll"><h3>Who asked for what</h3><table><tbody>${rows}</tbody></table></div>`;
}
