/** The page of a run's report: it reads what the page holds, and asks nobody. */
import { useState } from 'preact/hooks';
import type { ReportData } from '../write-report.ts';
import { Cards, Header } from './run-parts.tsx';
import { RunSections } from './run-sections.tsx';
import { renderPage } from './sections.tsx';
import { TaskBrowser } from './task-browser.tsx';

function Report({ view, samples, writtenAt }: ReportData) {
  const [epoch, setEpoch] = useState<number | null>(null);
  const openEpoch = (clicked: number) => {
    setEpoch(clicked);
    document.getElementById('samples')?.scrollIntoView({ behavior: 'smooth' });
  };
  const count = samples.reduce((sum, sampled) => sum + sampled.samples.length, 0);
  return (
    <>
      <header class="top">
        <p class="eyebrow">GenEnv co-evolution report</p>
        <h1>
          {view.runId} <span class={`pill ${view.state.tone}`}>{view.state.text}</span>
        </h1>
        <Header view={view} />
      </header>
      <main>
        <Cards cards={view.cards} />
        <RunSections view={view} onEpoch={openEpoch} tasks={<TaskBrowser epochs={samples} epoch={epoch} />} />
      </main>
      <footer class="quiet">
        Written {writtenAt} by genenv, from the ledger and the store alone. {count} sampled tasks. Figures:
        Apache ECharts.
      </footer>
    </>
  );
}

renderPage('report', Report);
