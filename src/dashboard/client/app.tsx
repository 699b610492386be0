/** The dashboard's page. Model output is text of any kind: it enters the page as text nodes only. */
import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { ComparePage } from './compare-page.tsx';
import { ComparisonPage } from './comparison-page.tsx';
import { EpochPage } from './epoch-page.tsx';
import { EvaluationPage } from './evaluation-page.tsx';
import { OverviewPage } from './overview-page.tsx';
import { usePlace } from './router.ts';
import type { Place } from './router.ts';
import { RunPage } from './run-page.tsx';
import { TaskPage } from './task-page.tsx';

function App() {
  const place = usePlace();
  const main = useRef<HTMLElement>(null);
  const path = place.parts.join('/');
  const before = useRef(path);
  useEffect(() => {
    document.title = `${titleOf(place.parts)} · GenEnv`;
    // Whoever reads with a keyboard or a screen reader begins at the new page's start.
    if (before.current !== path) main.current?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
  useLayoutEffect(() => {
    // A page that one comes back to is shown where it was left, any other from its start.
    if (history.state !== 'seen') scrollTo(0, 0);
    history.replaceState('seen', '');
  }, [path]);
  return (
    <>
      <header class="bar">
        <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
          Skip to the content
        </a>
        <a class="brand" href="#/">
          GenEnv
        </a>
        <Trail parts={place.parts} />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <CurrentPage place={place} />
      </main>
    </>
  );
}

/** The way from the overview to the current page. */
function Trail({ parts }: { parts: string[] }) {
  const [area = '', id = '', , epoch, , task] = parts;
  const steps: [string, string][] = [];
  if (id !== '') steps.push([id, `#/${area}/${encodeURIComponent(id)}`]);
  if (area === 'compare') steps.push(['compare', location.hash]);
  if (epoch !== undefined) steps.push([`epoch ${epoch}`, `#/runs/${encodeURIComponent(id)}/epochs/${epoch}`]);
  if (task !== undefined) steps.push([taskName(task), location.hash]);
  return (
    <nav class="trail" aria-label="Place">
      {steps.map(([name, href]) => (
        <a key={href} href={href}>
          {name}
        </a>
      ))}
    </nav>
  );
}

function CurrentPage({ place: { parts, query } }: { place: Place }) {
  const [area, id = '', , epoch, , task] = parts;
  if (area === undefined) return <OverviewPage query={query} />;
  if (area === 'compare') return query.get('runs') ? <ComparePage query={query} /> : <NothingChosen />;
  if (area === 'comparisons') return <ComparisonPage key={id} id={id} />;
  if (area === 'evaluations') return <EvaluationPage id={id} query={query} />;
  const numbers = [epoch, task].filter((part) => part !== undefined);
  if (area !== 'runs' || !numbers.every((part) => /^\d{1,9}$/.test(part))) return <NoPage />;
  if (task !== undefined)
    return <TaskPage run={id} epoch={Number(epoch)} index={Number(task)} query={query} />;
  if (epoch !== undefined)
    return <EpochPage key={`${id} ${epoch}`} run={id} epoch={Number(epoch)} query={query} />;
  return <RunPage key={id} id={id} query={query} />;
}

const NothingChosen = () => (
  <p>
    Choose two runs or more in the <a href="#/">overview</a>, or an arm of a comparison.
  </p>
);

const NoPage = () => (
  <p class="note warn">
    There is no such page. <a href="#/">All runs</a>
  </p>
);

/** As in its id, where tasks are counted from 0. */
const taskName = (index: string): string => `task-${index.padStart(2, '0')}`;

/** What the browser calls a place. */
function titleOf([area = '', id = '', , epoch, , task]: readonly string[]): string {
  if (area === '') return 'Runs';
  if (area === 'compare') return 'Compare';
  return [task && taskName(task), epoch && `epoch ${epoch}`, id].filter(Boolean).join(', ');
}

render(<App />, document.getElementById('page')!);
