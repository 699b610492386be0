import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { Sample, SampleAnswer } from '../describe-sample.ts';
import { Heads } from './run-parts.tsx';

type Tone = 'good' | 'warn' | 'bad' | 'plain';

export const Chip = ({
  tone,
  title,
  children,
}: {
  tone: Tone;
  title?: string;
  children: ComponentChildren;
}) => (
  <span class={`chip ${tone}`} title={title}>
    {children}
  </span>
);

export const fixed = (value: number | null, digits = 2): string =>
  value === null ? '–' : value.toFixed(digits).replace('-', '−');

/** A task that opens to what the simulator was told and wrote, and what the agent answered. */
export function TaskCard({ sample, isOpen = false }: { sample: Sample; isOpen?: boolean }) {
  const [opened, setOpened] = useState(isOpen);
  return (
    <details
      class="panel sample"
      open={opened}
      onToggle={({ currentTarget }) => setOpened(currentTarget.open)}
    >
      <summary>
        <span class="id">{sample.id}</span>
        {sample.kind !== '' && <Chip tone="plain">kind {sample.kind}</Chip>}
        {sample.valid ? (
          <Chip tone="plain">difficulty {sample.difficulty}</Chip>
        ) : (
          <Chip tone="bad">invalid: {sample.invalidReason.replaceAll('_', ' ')}</Chip>
        )}
        {sample.simulator === 'initial' && (
          <Chip tone="plain" title="Written by the frozen initial simulator">
            initial simulator
          </Chip>
        )}
        {sample.source !== 'new' && <Chip tone="plain">from {sample.source}</Chip>}
        {sample.keptForSimulator === false && sample.valid && (
          <Chip tone="warn">filtered: {sample.reason}</Chip>
        )}
        <span class="spacer" />
        <Dots rewards={sample.answers.filter(({ role }) => role === 'agent').map(({ reward }) => reward)} />
        <span class="rate">{sample.attempts ? `${sample.successes ?? 0}/${sample.attempts}` : '–'}</span>
      </summary>
      {opened && <TaskBody sample={sample} />}
    </details>
  );
}

/** One square an attempt. */
export const Dots = ({ rewards }: { rewards: readonly (number | null)[] }) => (
  <span class="dots" title="one square an attempt">
    {rewards.map((reward, index) => (
      <i key={index} class={dotClass(reward)} />
    ))}
  </span>
);

function dotClass(reward: number | null): string {
  if (reward === null) return 'none';
  if (reward >= 1) return 'right';
  return reward > 0 ? 'partly' : 'wrong';
}

/** How a task was written, what came of it, and the attempts at it. */
export function TaskBody({ sample, children }: { sample: Sample; children?: ComponentChildren }) {
  const hasAnswers = sample.answers.some(({ role }) => role === 'agent');
  return (
    <div class="opened">
      <div>
        <Block
          title="The simulator was told"
          text={sample.context}
          note={sample.historySuccess === null ? '' : `recent success ${fixed(sample.historySuccess)}`}
        />
        <Block
          title="and wrote"
          text={sample.raw}
          note={sample.policy === '' ? '' : `${sample.policy}, seed ${sample.seed ?? ''}`}
        />
        <Block title="The task" text={sample.task} />
        <Facts sample={sample} />
      </div>
      <div>
        <Block title="The agent was given" text={sample.prompt} />
        <Block title="The checker wants" text={sample.reference} />
        {children ??
          (hasAnswers ? (
            <Answers sample={sample} role="agent" title="The agent answered" />
          ) : (
            <p class="quiet">
              {sample.valid ? 'Its answers are not stored any more.' : 'No task, so no answers.'}
            </p>
          ))}
        <Answers sample={sample} role="frozen" title="The frozen initial agent answered" />
      </div>
    </div>
  );
}

function Facts({ sample }: { sample: Sample }) {
  const facts: [string, string][] = [
    ['success rate', fixed(sample.rate)],
    ['counted for the simulator', fixed(sample.targetRate)],
    ['simulator’s reward', fixed(sample.envReward)],
    ['guard factor', fixed(sample.guard)],
    ['frozen agent', fixed(sample.frozenRate)],
    ['random policy', fixed(sample.randomRate)],
    ['repeats before it', String(sample.repeats)],
    ['agent’s update', useText(sample.keptForAgent, 'left out')],
    ['simulator’s update', useText(sample.keptForSimulator, `filtered, ${sample.reason}`)],
  ];
  return (
    <dl>
      {facts.flatMap(([name, value]) => [<dt key={`${name} name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  );
}

function useText(kept: boolean | null, otherwise: string): string {
  if (kept === null) return '–';
  return kept ? 'kept' : otherwise;
}

const Block = ({ title, text, note = '' }: { title: string; text: string; note?: string }) =>
  text === '' ? null : (
    <div class="block">
      <h3 class="label">
        {title}
        {note !== '' && <small>{note}</small>}
      </h3>
      <pre>{text}</pre>
    </div>
  );

function Answers({ sample, role, title }: { sample: Sample; role: SampleAnswer['role']; title: string }) {
  const answers = sample.answers.filter((answer) => answer.role === role);
  if (answers.length === 0) return null;
  return (
    <div class="scroll" role="region" aria-label={title} tabIndex={0}>
      <table class="answers">
        <Heads names={['reward', title, 'advantage', 'tokens', 'end']} />
        <tbody>
          {answers.map((answer, index) => (
            <Answer key={index} answer={answer} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Answer = ({ answer }: { answer: SampleAnswer }) => {
  const { role, text, reading, wellFormed, advantage, tokens, finish } = answer;
  return (
    <tr>
      <td>
        <RewardChips answer={answer} />
      </td>
      <td class="answer">
        <code>{text === '' ? '(empty)' : text}</code>
        {!wellFormed && <Chip tone="warn">malformed</Chip>}
        {reading !== '' && wellFormed && <small>{reading}</small>}
      </td>
      <td class="figure">{advantage === null || role === 'frozen' ? '' : fixed(advantage)}</td>
      <td class="figure">{tokens === null ? '' : String(tokens)}</td>
      <td>{finish}</td>
    </tr>
  );
};

export const RewardChips = ({ answer: { reward, disputed } }: { answer: SampleAnswer }) => (
  <>
    <Chip tone={rewardTone(reward)}>{rewardText(reward)}</Chip>
    {disputed && <Chip tone="bad">verdicts differ</Chip>}
  </>
);

function rewardTone(reward: number | null): Tone {
  if (reward === null) return 'plain';
  if (reward >= 1) return 'good';
  return reward > 0 ? 'warn' : 'bad';
}

function rewardText(reward: number | null): string {
  if (reward === null) return '?';
  if (reward >= 1) return 'right';
  return reward > 0 ? fixed(reward) : 'wrong';
}
