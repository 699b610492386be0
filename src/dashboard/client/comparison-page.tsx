import { Heads, Scroll } from '../../report/client/run-parts.tsx';
import type { ComparisonPage as ComparisonPageData } from '../api.ts';
import { Problem, Unread } from './parts.tsx';
import { useResource } from './resource.ts';
import { linkTo } from './router.ts';

/** A comparison: what was asked beforehand, its claims, and its runs. */
export function ComparisonPage({ id }: { id: string }) {
  const resource = useResource<ComparisonPageData>(`/api/comparisons/${encodeURIComponent(id)}`);
  const { value: page, problem } = resource;
  if (page === null) return <Unread resource={resource} />;
  const { summary, arms, seeds, hasReport } = page;
  return (
    <>
      <p class="eyebrow">Comparison</p>
      <h1>{id}</h1>
      <Problem text={problem} />
      <p>
        {arms.length} arms under {seeds.length} seeds
        {hasReport && (
          <>
            ; <a href={`/reports/comparisons/${encodeURIComponent(id)}`}>its report with all figures</a>
          </>
        )}
      </p>
      {summary === null ? (
        <p class="quiet">It has no results yet.</p>
      ) : (
        <>
          {summary.notes.map((note) => (
            <p key={note} class="note warn">
              {note}
            </p>
          ))}
          <h2>What was asked beforehand</h2>
          <Scroll label="Primary comparisons">
            <table>
              <Heads names={['Arm', 'Against', 'Figure', 'Difference', 'p, exact', 'Verdict']} />
              <tbody>
                {summary.primary.map(({ arm, against, measure, difference, p, verdict }) => (
                  <tr key={`${arm} ${against} ${measure}`}>
                    <th scope="row">{arm}</th>
                    <td>{against}</td>
                    <td>{measure}</td>
                    <td class="figure">{difference}</td>
                    <td class="figure">{p}</td>
                    <td>{verdict}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          <h2>Claims</h2>
          {summary.claims.map(({ arm, rows }) => (
            <Scroll key={arm} label={`Claims of ${arm}`}>
              <h3>{arm}</h3>
              <table>
                <Heads names={['Claim', 'Paper', 'Here', 'Verdict']} />
                <tbody>
                  {rows.map(({ claim, paper, ours, verdict }) => (
                    <tr key={claim}>
                      <th scope="row">{claim}</th>
                      <td>{paper}</td>
                      <td>{ours}</td>
                      <td>{verdict}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          ))}
        </>
      )}
      <h2>Runs</h2>
      <Scroll label="Runs by arm">
        <table>
          <Heads names={['Arm', 'Runs']} />
          <tbody>
            {arms.map(({ arm, runs }) => (
              <tr key={arm}>
                <th scope="row">
                  <a href={linkTo(['compare'], { runs: runs.slice(0, 24).join(',') })}>{arm}</a>
                </th>
                <td>
                  {runs.map((run) => (
                    <span key={run}>
                      <a href={linkTo(['runs', run])}>{run.split('.').at(-1)}</a>{' '}
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
