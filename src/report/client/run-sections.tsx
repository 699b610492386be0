import type { ComponentChildren } from 'preact';
import type { Chart } from '../charts/options.ts';
import type { FigureSection, RunView } from '../run-view.ts';
import { Figures } from './chart.tsx';
import { Costs, GuardTable, History, Record } from './run-parts.tsx';
import { Sections } from './sections.tsx';
import type { Section } from './sections.tsx';

interface RunSectionsProps {
  view: RunView;
  /** The section of tasks. */
  tasks: ComponentChildren;
  /** Called for a click on an epoch of a figure. */
  onEpoch: (epoch: number) => void;
  /** Address of a section. */
  linkTo?: (section: string) => string;
}

/** The sections of a run's page with their navigation. */
export const RunSections = ({ view, tasks, onEpoch, linkTo }: RunSectionsProps) => (
  <Sections sections={sectionsOf(view, tasks, onEpoch)} {...(linkTo && { linkTo })}>
    {view.epochsPerPoint > 1 && (
      <p class="quiet">Each point of the figures is the mean of {view.epochsPerPoint} epochs.</p>
    )}
  </Sections>
);

function sectionsOf(view: RunView, tasks: ComponentChildren, onEpoch: (epoch: number) => void): Section[] {
  const charts = (id: FigureSection['id']): Chart[] =>
    view.figures.find((section) => section.id === id)?.charts ?? [];
  const figures = (id: FigureSection['id']) =>
    charts(id).length === 0 ? null : <Figures charts={charts(id)} onEpoch={onEpoch} />;
  const begun = view.progress.committed > 0;
  const nothingDropped = begun ? <p class="quiet">Nothing was invalid or filtered.</p> : null;
  return [
    { id: 'frontier', short: 'Frontier', title: 'At the edge of its ability?', body: figures('frontier') },
    { id: 'held-out', short: 'Learning', title: 'Did the agent learn?', body: figures('held-out') },
    {
      id: 'guards',
      short: 'Guards',
      title: 'Can the band be trusted?',
      body: view.guards.length > 0 && (
        <>
          <GuardTable guards={view.guards} />
          {figures('guards')}
        </>
      ),
    },
    { id: 'updates', short: 'Updates', title: 'Rewards and updates', body: figures('updates') },
    {
      id: 'dropped',
      short: 'Dropped',
      title: 'What was dropped',
      body: figures('dropped') ?? nothingDropped,
    },
    { id: 'samples', short: 'Tasks', title: 'Tasks and answers', body: tasks },
    {
      id: 'costs',
      short: 'Costs',
      title: 'Time, costs and pools',
      body: (view.costs !== null || charts('costs').length > 0) && (
        <>
          {view.costs !== null && <Costs costs={view.costs} />}
          {figures('costs')}
        </>
      ),
    },
    { id: 'history', short: 'History', title: 'What happened', body: <History history={view.history} /> },
    { id: 'record', short: 'Record', title: 'Experiment and ledger', body: <Record view={view} /> },
  ];
}
