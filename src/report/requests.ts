import { escapeHtml } from './document.ts';
import type { ReportEvent } from './run-data.ts';

/** Who asked for what, oldest first; empty if nothing is recorded. */
export function requestTable(events: readonly ReportEvent[]): string {
  const requests = events.filter(({ type }) => type === 'requested');
  if (requests.length === 0) return '';
  const rows = requests.map(
    ({ at, request, identity }) =>
      `<tr><td class="figure">${escapeHtml(at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC'))}</td>` +
      `<td>${escapeHtml(String(request))}</td><td>${escapeHtml(String(identity))}</td></tr>`,
  );
  return `<div class="panel scroll"><h3>Who asked for what</h3><table><tbody>${rows.join('')}</tbody></table></div>`;
}
