import { useState } from 'preact/hooks';
import { Heads, Scroll, Sparkline } from '../../report/client/run-parts.tsx';
import { formatDuration, formatRate } from '../../report/format.ts';
import type { HomeView, RunLine } from '../api.ts';
import { Problem, ProgressBar, StatePill, timeText, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { go, linkTo } from './router.ts';

/** All runs, what each does now, and what needs attention. */
export function OverviewPage() {
  const resource = useResource<HomeView>('/api/home');
  const { value: home, problem, reload } = resource;
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [text, setText] = useState('');
  useServerEvents((event) => {
    if (event !== 'tick' || (home?.runs.some(({ isActive }) => isActive) ?? problem !== null)) reload();
  });
  if (home === null) return <Unread resource={resource} />;
  const runs = home.runs.filter(({ id, arm }) => `${id} ${arm}`.toLowerCase().includes(text.toLowerCase()));
  const choose = (id: string, on: boolean) =>
    setChosen(on ? [...chosen, id] : chosen.filter((kept) => kept !== id));
  return (
    <>
      <h1>Runs</h1>
      <Problem text={problem} />
      <p class="quiet">{home.home}</p>
      {home.runs.length === 0 ? (
        <p>
          No runs yet. Start one: <code>npx genenv run experiments/laptop.json</code>
        </p>
      ) : (
        <>
          <form class="panel filters" onSubmit={(event) => event.preventDefault()}>
            <label class="grow">
              Find{' '}
              <input
                type="search"
                name="find"
                value={text}
                placeholder="in ids and arms"
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            <button
              type="button"
              id="compare"
              disabled={chosen.length < 2}
              onClick={() => go(['compare'], { runs: chosen.join(',') })}
            >
              Compare {chosen.length > 0 ? chosen.length : ''}
            </button>
          </form>
          <RunTable runs={runs} chosen={chosen} choose={choose} />
        </>
      )}
      <Results home={home} />
    </>
  );
}

interface RunTableProps {
  runs: readonly RunLine[];
  chosen: readonly string[];
  choose: (id: string, on: boolean) => void;
}

const RunTable = ({ runs, chosen, choose }: RunTableProps) => (
  <Scroll label="Runs">
    <table class="runs">
      <Heads
        names={[
          'Compare',
          'Run',
          'State',
          'Epoch',
          'p̂',
          'Held-out',
          'Left',
          'Last epoch (UTC)',
          'Needs attention',
        ]}
      />
      <tbody>
        {runs.map((run) => (
          <tr key={run.id}>
            <td>
              <input
                type="checkbox"
                aria-label={`compare ${run.id}`}
                checked={chosen.includes(run.id)}
                onChange={(event) => choose(run.id, event.currentTarget.checked)}
              />
            </td>
            <th scope="row">
              <a href={linkTo(['runs', run.id])}>{run.id}</a>
              <small>{run.arm}</small>
            </th>
            <td>
              <StatePill state={run.state} />
              {run.phase !== '' && <small>{run.phase}</small>}
            </td>
            <td class="figure">
              {run.epoch} of {run.epochs}
              <ProgressBar done={run.epoch} all={run.epochs} label={`epochs of ${run.id}`} />
            </td>
            <td>
              <Course values={run.success} />
            </td>
            <td>
              <Course values={run.heldOutCourse} />
            </td>
            <td class="figure">{run.secondsLeft === null ? '–' : formatDuration(run.secondsLeft)}</td>
            <td class="figure">{timeText(run.updated)}</td>
            <td class="attention">
              {run.attention.slice(0, 3).map((reason) => (
                <span key={reason} class="chip warn">
                  {reason}
                </span>
              ))}
              {run.attention.length > 3 && <small>and {run.attention.length - 3} more</small>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
);

const Course = ({ values }: { values: readonly (number | null)[] }) => (
  <span class="course">
    <Sparkline values={values} />
    <span class="figure">{formatRate(values.findLast((value) => value !== null) ?? null)}</span>
  </span>
);

function Results({ home: { comparisons, evaluations } }: { home: HomeView }) {
  return (
    <>
      {comparisons.length > 0 && (
        <section>
          <h2>Comparisons</h2>
          <Scroll label="Comparisons">
            <table>
              <Heads names={['Comparison', 'Arms', 'Seeds', 'State']} />
              <tbody>
                {comparisons.map(({ id, arms, seeds, isSummarized }) => (
                  <tr key={id}>
                    <th scope="row">
                      <a href={linkTo(['comparisons', id])}>{id}</a>
                    </th>
                    <td class="figure">{arms}</td>
                    <td class="figure">{seeds}</td>
                    <td>{isSummarized ? 'done' : 'under way, or interrupted'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </section>
      )}
      {evaluations.length > 0 && (
        <section>
          <h2>Evaluations</h2>
          <Scroll label="Evaluations">
            <table>
              <Heads names={['Evaluation', 'State', 'Scores']} />
              <tbody>
                {evaluations.map(({ id, hasEnded, scores }) => (
                  <tr key={id}>
                    <th scope="row">
                      <a href={linkTo(['evaluations', id])}>{id}</a>
                    </th>
                    <td>{hasEnded ? 'done' : 'under way, or interrupted'}</td>
                    <td>{scores.map(({ name, value }) => `${name} ${value.toFixed(3)}`).join(', ')}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </section>
      )}
    </>
  );
}
