/** The page of an evaluation: it reads what the page holds, and asks nobody. */
import type { EvaluationPageData } from '../evaluation-page.ts';
import { formatCount } from '../format.ts';
import { CaseBrowser } from './case-list.tsx';
import { EvaluationSettings, PaperTable, Scores, Suites, UnreadableLines } from './evaluation-parts.tsx';
import { renderPage, Sections } from './sections.tsx';

const EvaluationReport = ({ view, total, correct, cases, cut }: EvaluationPageData) => (
  <>
    <header class="top">
      <p class="eyebrow">GenEnv evaluation</p>
      <h1>{view.id}</h1>
      <p class="quiet">
        {view.policy} · {formatCount(correct)} of {formatCount(total)} cases are right
      </p>
      <UnreadableLines lines={view.unreadable} />
    </header>
    <main>
      <Sections
        sections={[
          { id: 'scores', short: 'Scores', title: 'Scores', body: <Scores view={view} /> },
          { id: 'categories', short: 'Categories', title: 'Categories', body: <Suites view={view} /> },
          {
            id: 'paper',
            short: 'Paper',
            title: 'Beside the paper',
            body: <PaperTable paper={view.paper} />,
          },
          { id: 'cases', short: 'Cases', title: 'Cases', body: <CaseBrowser cases={cases} cut={cut} /> },
          {
            id: 'settings',
            short: 'Settings',
            title: 'How it was asked',
            body: <EvaluationSettings view={view} />,
          },
        ]}
      />
    </main>
    <footer class="quiet">Written by genenv, from results.json and cases.jsonl alone.</footer>
  </>
);

renderPage('evaluation', EvaluationReport);
