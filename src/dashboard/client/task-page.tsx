import { useState } from 'preact/hooks';
import { Chip, Facts } from '../../report/client/parts.tsx';
import { Gaps } from '../../report/client/run-parts.tsx';
import { RewardChips, TaskBody } from '../../report/client/task-card.tsx';
import { formatFixed } from '../../report/format.ts';
import type { Rollout, RolloutToken, TaskPage as TaskPageData } from '../api.ts';
import { Problem, Unread } from './parts.tsx';
import { useResource } from './resource.ts';
import { linkTo } from './router.ts';

interface TaskPageProps {
  run: string;
  epoch: number;
  index: number;
  query: URLSearchParams;
}

/** A task as it was written, with all attempts at it side by side. */
export function TaskPage({ run, epoch, index, query }: TaskPageProps) {
  const resource = useResource<TaskPageData>(
    `/api/runs/${encodeURIComponent(run)}/epochs/${epoch}/tasks/${index}`,
  );
  const { value: page, problem } = resource;
  if (page === null) return <Unread resource={resource} />;
  const { sample, rollouts, total, gaps } = page;
  const back = Object.fromEntries(query);
  const own = rollouts.filter(({ role }) => role === 'agent');
  return (
    <>
      <p class="eyebrow">
        {run}, epoch {epoch}
      </p>
      <h1>{sample.id}</h1>
      <p>
        <a href={linkTo(['runs', run, 'epochs', epoch], back)}>All tasks of the epoch</a>
        {index > 0 && (
          <>
            {' '}
            · <a href={linkTo(['runs', run, 'epochs', epoch, 'tasks', index - 1], back)}>‹ task before</a>
          </>
        )}
        {index + 1 < total && (
          <>
            {' '}
            · <a href={linkTo(['runs', run, 'epochs', epoch, 'tasks', index + 1], back)}>task after ›</a>
          </>
        )}
      </p>
      <Problem text={problem} />
      <p>
        {sample.kind !== '' && <Chip tone="plain">kind {sample.kind}</Chip>}{' '}
        {sample.valid ? (
          <Chip tone="plain">difficulty {sample.difficulty}</Chip>
        ) : (
          <Chip tone="bad">invalid: {sample.invalidReason.replaceAll('_', ' ')}</Chip>
        )}{' '}
        <Chip tone="plain">from {sample.source}</Chip>{' '}
        {sample.keptForSimulator === false && sample.valid && (
          <Chip tone="warn">left out of an update: {sample.reason}</Chip>
        )}
      </p>
      <Gaps gaps={gaps} />
      <h2>How it was written</h2>
      <div class="panel sample">
        <TaskBody sample={sample} hasTable={false} />
      </div>
      <Rollouts rollouts={own} />
    </>
  );
}

function Rollouts({ rollouts }: { rollouts: readonly Rollout[] }) {
  const [isShaded, setShaded] = useState(true);
  if (rollouts.length === 0) return null;
  const lowest = rollouts
    .flatMap(({ tokenTexts }) => tokenTexts ?? [])
    .reduce((low, { logprob }) => Math.min(low, logprob), -1);
  return (
    <section aria-label="Attempts">
      <h2>{rollouts.length} attempts side by side</h2>
      <label class="toggle">
        <input
          type="checkbox"
          checked={isShaded}
          onChange={(event) => setShaded(event.currentTarget.checked)}
        />{' '}
        Shade tokens by log-probability: the darker, the less probable
      </label>
      <div class="rollouts">
        {rollouts.map((rollout, index) => (
          <article key={rollout.id} class="panel rollout" aria-label={`attempt ${index + 1}`}>
            <h3>
              Attempt {index + 1} <RewardChips answer={rollout} />
              {!rollout.wellFormed && <Chip tone="warn">malformed</Chip>}
            </h3>
            {rollout.turns.length > 0 ? (
              <Dialogue rollout={rollout} />
            ) : (
              <Answer rollout={rollout} isShaded={isShaded} lowest={lowest} />
            )}
            <RewardFacts rollout={rollout} />
          </article>
        ))}
      </div>
    </section>
  );
}

function Answer({ rollout, isShaded, lowest }: { rollout: Rollout; isShaded: boolean; lowest: number }) {
  const { text, tokenTexts } = rollout;
  if (tokenTexts === null || !isShaded) return <pre>{text === '' ? '(empty)' : text}</pre>;
  return (
    <pre>
      {tokenTexts.map((token, index) => (
        <Token key={index} token={token} lowest={lowest} />
      ))}
    </pre>
  );
}

const Token = ({ token: { text, logprob, isSampled }, lowest }: { token: RolloutToken; lowest: number }) => (
  <span
    class={isSampled ? 'token' : 'token read'}
    style={isSampled ? { '--surprise': Math.min(1, logprob / lowest).toFixed(3) } : {}}
    title={isSampled ? `log-probability ${formatFixed(logprob, 3)}` : 'read, not sampled'}
  >
    {text}
  </span>
);

/** A rollout of several turns, step by step. */
const Dialogue = ({ rollout: { turns } }: { rollout: Rollout }) => (
  <ol class="dialogue">
    {turns.map(({ action, wording, observation, consistent }, index) => (
      <li key={index}>
        <p class="action">
          <b>Agent</b> <code>{action}</code>
        </p>
        {observation !== null && (
          <p class="observation">
            <b>World</b> {observation}
          </p>
        )}
        {!consistent && (
          <p class="note warn">
            The simulator’s wording was not true, and was replaced: <code>{wording ?? ''}</code>
          </p>
        )}
      </li>
    ))}
  </ol>
);

/** How the reward came about. */
function RewardFacts({ rollout }: { rollout: Rollout }) {
  const { reading, answer, failure, advantage, tokens, logprob, finish, seed, policy } = rollout;
  const facts: [string, string][] = [
    ['read as', reading === '' ? answer : reading],
    ['why not solved', failure],
    ['advantage', advantage === null ? '' : formatFixed(advantage)],
    ['tokens', tokens === null ? '' : String(tokens)],
    ['log-probability', logprob === null ? '' : formatFixed(logprob)],
    ['end', finish],
    ['policy', policy],
    ['seed of its request', seed === null ? '' : String(seed)],
  ];
  return <Facts facts={facts.filter(([, value]) => value !== '')} />;
}
