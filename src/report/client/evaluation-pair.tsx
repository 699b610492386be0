/** The page of two evaluations case by case: it reads what the page holds, and asks nobody. */
import type { PairedSuiteView, PairedView } from '../../evaluation/paired-view.ts';
import type { PairedPageData } from '../evaluation-page.ts';
import { formatCount } from '../format.ts';
import { CaseBrowser } from './case-list.tsx';
import { DataTable } from './data-table.tsx';
import type { Column } from './data-table.tsx';
import { percent } from './evaluation-parts.tsx';
import { renderPage, Sections } from './sections.tsx';

const figure = (name: string, text: (suite: PairedSuiteView) => string): Column<PairedSuiteView> => ({
  name,
  kind: 'figure',
  cell: text,
});

const PairedSuites = ({ view: { first, second, suites } }: { view: PairedView }) => (
  <>
    <p class="lead">
      The difference is the accuracy of {first} minus that of {second}, on the cases that both have.
    </p>
    <DataTable
      label="Suites"
      rows={suites}
      columns={[
        { name: 'suite', kind: 'heading', cell: ({ suite }) => suite },
        figure('cases', ({ cases }) => formatCount(cases)),
        figure('both right', ({ counts }) => formatCount(counts.both)),
        figure(`only ${first}`, ({ counts }) => formatCount(counts.onlyFirst)),
        figure(`only ${second}`, ({ counts }) => formatCount(counts.onlySecond)),
        figure('neither', ({ counts }) => formatCount(counts.neither)),
        figure('difference, points', ({ difference }) => percent(difference.mean)),
        figure(
          '95 % interval',
          ({ difference }) => `${percent(difference.low)} to ${percent(difference.high)}`,
        ),
        figure('p (McNemar, exact)', ({ p }) => p.toPrecision(3)),
      ]}
    />
  </>
);

const EvaluationPair = ({ view, total, cases, cut }: PairedPageData) => (
  <>
    <header class="top">
      <p class="eyebrow">GenEnv evaluations, case by case</p>
      <h1>
        {view.first} and {view.second}
      </h1>
      <p class="quiet">{formatCount(total)} cases that both have, judged by the same rules</p>
    </header>
    <main>
      <Sections
        sections={[
          { id: 'suites', short: 'Suites', title: 'Suites', body: <PairedSuites view={view} /> },
          { id: 'cases', short: 'Cases', title: 'Cases', body: <CaseBrowser cases={cases} cut={cut} /> },
        ]}
      />
    </main>
    <footer class="quiet">Written by genenv, from results.json and cases.jsonl of both alone.</footer>
  </>
);

renderPage('pair', EvaluationPair);
