import { Heads, Scroll } from '../../report/client/run-parts.tsx';
import { Choice } from '../../report/client/task-browser.tsx';
import type { EvaluationView, FigureView, SuiteView } from '../../evaluation/evaluation-view.ts';
import type { CasesPage, EvaluationPage as EvaluationPageData } from '../api.ts';
import { Pager, Problem, Unread } from './parts.tsx';
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
          <p class="quiet">{view.settings.map(([name, value]) => `${name}: ${value}`).join(' · ')}</p>
          <h2>Figures</h2>
          <Figures figures={view.aggregates} />
          {view.suites.map((suite) => (
            <Suite key={suite.name} suite={suite} />
          ))}
          <h2>Beside the paper</h2>
          <PaperTable paper={view.paper} />
          <h2>Cases</h2>
          <Cases id={id} query={query} />
        </>
      )}
    </>
  );
}

const percent = (value: number | null): string => (value === null ? '–' : (100 * value).toFixed(1));

const Figures = ({ figures }: { figures: readonly FigureView[] }) =>
  figures.length === 0 ? null : (
    <Scroll label="Figures">
      <table>
        <Heads names={['Figure', '%', '95 % interval', 'Of', 'Note']} />
        <tbody>
          {figures.map(({ name, value, low, high, total, note }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="figure">{percent(value)}</td>
              <td class="figure">{low === null ? '–' : `${percent(low)} to ${percent(high)}`}</td>
              <td class="figure">{total}</td>
              <td>{note}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );

const Suite = ({ suite }: { suite: SuiteView }) => (
  <section>
    <h3>{suite.name}</h3>
    {suite.skipped !== null ? (
      <p class="note warn">Skipped: {suite.skipped}</p>
    ) : (
      <>
        <Figures figures={suite.figures} />
        {suite.reasons.length > 0 && (
          <p class="quiet">
            Why answers are wrong: {suite.reasons.map(({ reason, cases }) => `${reason} ${cases}`).join(', ')}
          </p>
        )}
      </>
    )}
  </section>
);

const PaperTable = ({ paper: { benchmarks, rows } }: { paper: EvaluationView['paper'] }) => (
  <Scroll label="Beside the paper">
    <table>
      <Heads names={['Model', ...benchmarks, 'Mean']} />
      <tbody>
        {rows.map(({ model, group, percents, mean }) => (
          <tr key={`${group} ${model}`}>
            <th scope="row">{group === 'own' ? <b>{model}</b> : model}</th>
            {[...percents, mean].map((value, index) => (
              <td key={index} class="figure">
                {value === null ? '–' : value.toFixed(1)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
);

/** The cases by filters: each with its question, the answer beside the gold one, the verdict and its reason. */
function Cases({ id, query }: { id: string; query: URLSearchParams }) {
  const resource = useResource<CasesPage>(
    `/api/evaluations/${encodeURIComponent(id)}/cases?${query.toString()}`,
  );
  const filters = Object.fromEntries(
    ['suite', 'verdict', 'text', 'offset'].map((name) => [name, query.get(name) ?? '']),
  );
  const show = (changed: Record<string, string>) => replaceQuery({ ...filters, offset: '', ...changed });
  const offset = Number(filters.offset);
  const { value: page } = resource;
  return (
    <>
      <form class="panel filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Suite{' '}
          <Choice
            name="suite"
            value={filters.suite ?? ''}
            choices={page?.suites ?? []}
            onChange={(suite) => show({ suite })}
          />
        </label>
        <label>
          Verdict{' '}
          <Choice
            name="verdict"
            value={filters.verdict ?? ''}
            choices={['right', 'wrong']}
            onChange={(verdict) => show({ verdict })}
          />
        </label>
        <label class="grow">
          Text{' '}
          <input
            type="search"
            name="text"
            value={filters.text}
            placeholder="in questions, answers and reasons"
            onInput={(event) => show({ text: event.currentTarget.value })}
          />
        </label>
      </form>
      {page === null ? (
        <Unread resource={resource} />
      ) : (
        <>
          <p class="quiet" id="case-count" aria-live="polite">
            {page.matching} of {page.total} cases
          </p>
          {page.cases.map((line) => (
            <Case key={`${line.suite} ${line.id}`} line={line} />
          ))}
          <Pager
            items="Cases"
            offset={offset}
            matching={page.matching}
            pageSize={page.pageSize}
            onPage={(at) => show({ offset: String(at) })}
          />
        </>
      )}
    </>
  );
}

const Case = ({ line }: { line: CasesPage['cases'][number] }) => {
  const { suite, id, correct, reason, converted, question = '', answer = '', gold = '' } = line;
  return (
    <article class="panel case" aria-label={id}>
      <h3>
        {id} <span class={`chip ${correct ? 'good' : 'bad'}`}>{correct ? 'right' : 'wrong'}</span>{' '}
        <span class="chip plain">{suite}</span>
        {reason !== null && <span class="chip warn">{reason}</span>}
        {converted === true && <span class="chip warn">converted</span>}
      </h3>
      {question !== '' && <pre>{question}</pre>}
      <div class="beside">
        <div>
          <p class="quiet">The answer</p>
          <pre>{answer === '' ? '(empty)' : answer}</pre>
        </div>
        <div>
          <p class="quiet">Gold</p>
          <pre>{gold === '' ? '–' : gold}</pre>
        </div>
      </div>
    </article>
  );
};
