import { Figures } from '../../report/client/chart.tsx';
import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import { formatNumber } from '../../report/format.ts';
import type { CompareAxis, ComparePage as ComparePageData, HomeView } from '../api.ts';
import { Problem, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { linkTo, replaceQuery } from './router.ts';

const axes: CompareAxis[] = ['rollouts', 'tokens', 'seconds', 'epochs'];

/** Runs over each other on an axis, and how their settings differ. */
export function ComparePage({ query }: { query: URLSearchParams }) {
  const ids = (query.get('runs') ?? '').split(',').filter((id) => id !== '');
  const axis = (query.get('axis') ?? 'rollouts') as CompareAxis;
  const resource = useResource<ComparePageData>(`/api/compare?${query.toString()}`);
  const home = useResource<HomeView>('/api/home');
  const { value: page, problem, reload } = resource;
  useServerEvents((event) => {
    if (event !== 'tick' && event.runs.some((id) => ids.includes(id))) reload();
  });
  const by = query.get('by') ?? 'run';
  const show = (changed: { runs?: readonly string[]; axis?: string; by?: string }) =>
    replaceQuery({
      runs: (changed.runs ?? ids).join(','),
      axis: changed.axis ?? axis,
      by: changed.by ?? by,
    });
  if (page === null) return <Unread resource={resource} />;
  return (
    <>
      <h1>Compare</h1>
      <Problem text={problem} />
      <form class="panel filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Along{' '}
          <select name="axis" value={axis} onChange={(event) => show({ axis: event.currentTarget.value })}>
            {axes.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          A curve for each{' '}
          <select name="by" value={by} onChange={(event) => show({ by: event.currentTarget.value })}>
            <option value="run">run</option>
            <option value="arm">arm, with its interval</option>
          </select>
        </label>
        <label>
          Add{' '}
          <select
            name="add"
            value=""
            onChange={(event) => show({ runs: [...ids, event.currentTarget.value] })}
          >
            <option value="">a run …</option>
            {(home.value?.runs ?? [])
              .filter(({ id }) => !ids.includes(id))
              .map(({ id }) => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
          </select>
        </label>
        <ul class="chosen">
          {page.runs.map(({ id, state }) => (
            <li key={id}>
              <a href={linkTo(['runs', id])}>{id}</a> <span class="quiet">{state}</span>{' '}
              {ids.length > 1 && (
                <button
                  type="button"
                  aria-label={`leave out ${id}`}
                  onClick={() => show({ runs: ids.filter((kept) => kept !== id) })}
                >
                  ×
                </button>
              )}
            </li>
          ))}
        </ul>
      </form>
      <h2>Curves</h2>
      <Figures charts={page.figures} />
      <DataTable
        label="Values reached"
        title="Values where the shortest curve ends"
        rows={page.reached}
        columns={[
          { name: 'Figure', kind: 'heading', cell: ({ title }) => title },
          {
            name: `At ${page.axis}`,
            kind: 'figure',
            cell: ({ at }) => (at === null ? '–' : formatNumber(at)),
          },
          ...page.curves.map(({ name, runs }, index): Column<ComparePageData['reached'][number]> => ({
            name: runs > 1 ? `${name}, ${runs} runs` : name,
            kind: 'figure',
            cell: ({ values }) => values[index],
          })),
        ]}
      />
      <section>
        <h2>Settings that differ</h2>
        {page.differences.length === 0 ? (
          <p class="quiet">
            {page.curves.length < 2
              ? 'Add a run of another arm to compare with.'
              : 'None: they have the same settings.'}
          </p>
        ) : (
          <DataTable
            label="Settings that differ"
            rows={page.differences}
            columns={[
              { name: 'Setting', kind: 'heading', cell: ({ field }) => field },
              ...page.curves.map(({ name }, index): Column<ComparePageData['differences'][number]> => ({
                name,
                kind: 'figure',
                cell: ({ values }) => values[index],
              })),
            ]}
          />
        )}
      </section>
    </>
  );
}
