import { noCaseFilters } from '../../evaluation/shown-case.ts';
import type { CaseFilters } from '../../evaluation/shown-case.ts';
import { CaseForm, CaseList } from '../../report/client/case-list.tsx';
import {
  EvaluationSettings,
  PaperTable,
  Scores,
  Suites,
  UnreadableLines,
} from '../../report/client/evaluation-parts.tsx';
import type { CasesPage, EvaluationPage as EvaluationPageData } from '../api.ts';
import { Problem, Unread } from './parts.tsx';
import { useResource } from './resource.ts';
import { replaceQuery } from './router.ts';

/** An evaluation: its figures with intervals beside the paper's, and its cases. */
export function EvaluationPage({ id, query }: { id: string; query: URLSearchParams }) {
  const resource = useResource<EvaluationPageData>(`/api/evaluations/${encodeURIComponent(id)}`);
  const { value: page, problem } = resource;
  if (page === null) return <Unread resource={resource} />;
  const { view, hasReport } = page;
  return (
    <>
      <p class="eyebrow">Evaluation</p>
      <h1>{id}</h1>
      <Problem text={problem} />
      {view === null ? (
        <p class="quiet">It has no results yet.</p>
      ) : (
        <>
          <p>
            {view.policy}
            {hasReport && (
              <>
                {' '}
                · <a href={`/reports/evaluations/${encodeURIComponent(id)}`}>its page as a file</a>
              </>
            )}
          </p>
          <UnreadableLines lines={view.unreadable} />
          <h2>Scores</h2>
          <Scores view={view} />
          <h2>Categories</h2>
          <Suites view={view} />
          <h2>Beside the paper</h2>
          <PaperTable paper={view.paper} />
          <h2 id="cases">Cases</h2>
          <Cases id={id} query={query} />
          <h2>How it was asked</h2>
          <EvaluationSettings view={view} />
        </>
      )}
    </>
  );
}

const noChoices = { suites: [], outcomes: [], reasons: [] };
const filterNames = Object.keys(noCaseFilters) as (keyof CaseFilters)[];

/** The cases by filters that stand in the address, a page at a time. */
function Cases({ id, query }: { id: string; query: URLSearchParams }) {
  const resource = useResource<CasesPage>(
    `/api/evaluations/${encodeURIComponent(id)}/cases?${query.toString()}`,
  );
  const { value: page } = resource;
  const filters = Object.fromEntries(
    filterNames.map((name) => [name, query.get(name) ?? '']),
  ) as unknown as CaseFilters;
  return (
    <>
      <CaseForm
        filters={filters}
        choices={page?.choices ?? noChoices}
        onChange={(changed) => replaceQuery({ ...filters, ...changed })}
      />
      {page === null ? (
        <Unread resource={resource} />
      ) : (
        <CaseList
          {...page}
          offset={Number(query.get('offset') ?? 0)}
          onPage={(offset) => {
            replaceQuery({ ...filters, offset: String(offset) });
            document.getElementById('cases')?.scrollIntoView();
          }}
        />
      )}
    </>
  );
}
