import { useState } from 'preact/hooks';
import type { Sample, SampleAnswer } from '../describe-sample.ts';
import { formatFixed } from '../format.ts';
import { Table } from './data-table.tsx';
import type { Column } from './data-table.tsx';
import { Block, Chip, Facts, Meanings } from './parts.tsx';
import type { Tone } from './parts.tsx';

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
          <Chip tone="warn">left out: {sample.reason}</Chip>
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

interface TaskBodyProps {
  sample: Sample;
  /** False if the page shows the agent's answers elsewhere. */
  hasTable?: boolean;
}

/** How a task was written, what came of it, and the attempts at it. */
export function TaskBody({ sample, hasTable = true }: TaskBodyProps) {
  const hasAnswers = sample.answers.some(({ role }) => role === 'agent');
  return (
    <div class="opened">
      <div>
        <Block
          title="The simulator was told"
          text={sample.context}
          note={sample.historySuccess === null ? '' : `recent success ${formatFixed(sample.historySuccess)}`}
        />
        {sample.policy === '' ? (
          <p class="quiet">{origins[sample.source] ?? 'No model wrote it.'}</p>
        ) : (
          <Block title="and wrote" text={sample.raw} note={`${sample.policy}, seed ${sample.seed ?? ''}`} />
        )}
        <Block title="The task" text={sample.task} />
        <Facts facts={taskFacts(sample).filter(([, value]) => value !== '')} />
        <Meanings title="What these figures mean" facts={meanings} />
      </div>
      <div>
        <Block title="The agent was given" text={sample.prompt} />
        <Block title="The checker wants" text={sample.reference} />
        {!hasAnswers && (
          <p class="quiet">
            {sample.valid ? 'Its answers are not stored any more.' : 'No task, so no answers.'}
          </p>
        )}
        {hasTable && <Answers sample={sample} role="agent" title="The agent answered" />}
        <Answers sample={sample} role="frozen" title="The frozen initial agent answered" />
      </div>
    </div>
  );
}

/** Where a task comes from that was not written in its epoch. */
const origins: Readonly<Record<string, string>> = {
  base: 'A base task, not written in this epoch.',
  history: 'A task from an earlier epoch, not written in this one.',
};

const taskFacts = (sample: Sample): [string, string][] => [
  ['p̂', formatFixed(sample.rate)],
  ['p̂ of its batch', sample.targetRate === sample.rate ? '' : formatFixed(sample.targetRate)],
  ['simulator’s reward', formatFixed(sample.envReward)],
  ['guard factor', formatFixed(sample.guard)],
  ['initial agent', formatFixed(sample.frozenRate)],
  ['random policy', formatFixed(sample.randomRate)],
  ['repeats before it', String(sample.repeats)],
  ['agent’s update', useText(sample.keptForAgent, 'left out', hasAdvantages(sample))],
  [
    'simulator’s update',
    sample.source === 'new'
      ? useText(sample.keptForSimulator, `left out, ${sample.reason}`)
      : 'no part of it: only new tasks are',
  ],
];

/** What the figures of a task mean. */
const meanings: readonly (readonly [string, string])[] = [
  ['p̂', 'share of the agent’s rollouts that solve the task'],
  [
    'p̂ of its batch',
    'mean over the variations of one seed prompt; with `difficulty.per` "batch" filter and reward use it',
  ],
  ['simulator’s reward', 'R_env = exp(−β (p̂ − α)²): 1 for a task at the edge of the agent’s ability'],
  ['guard factor', 'what the guards leave of the task’s weight in the regression, 0 to 1'],
  [
    'initial agent',
    'success rate of the agent of epoch 0; if it is low and p̂ is high, training taught the agent this task',
  ],
  ['random policy', 'success rate of random answers'],
  [
    'advantage',
    'a rollout’s reward minus the mean of its group, divided by the group’s standard deviation if the run scales advantages (GRPO)',
  ],
];

function useText(kept: boolean | null, otherwise: string, hasSignal = true): string {
  if (kept === null) return '–';
  if (!kept) return otherwise;
  return hasSignal ? 'kept' : 'kept, but no answer has an advantage: nothing is learnt from it';
}

/** False for a group of which the agent learns nothing, whatever is done with it; true if that is not known. */
function hasAdvantages({ answers }: Sample): boolean {
  const advantages = answers.filter(({ role }) => role === 'agent').map(({ advantage }) => advantage);
  return advantages.length === 0 || advantages.some((advantage) => advantage === null || advantage !== 0);
}

function Answers({ sample, role, title }: { sample: Sample; role: SampleAnswer['role']; title: string }) {
  const answers = sample.answers.filter((answer) => answer.role === role);
  if (answers.length === 0) return null;
  const columns: Column<SampleAnswer>[] = [
    { name: 'reward', cell: (answer) => <RewardChips answer={answer} /> },
    { name: title, kind: 'answer', cell: (answer) => <AnswerText answer={answer} /> },
    {
      name: 'advantage',
      kind: 'figure',
      cell: ({ advantage }) => (advantage === null || role === 'frozen' ? '' : formatFixed(advantage)),
    },
    { name: 'tokens', kind: 'figure', cell: ({ tokens }) => tokens },
    { name: 'end', cell: ({ finish }) => finish },
  ];
  return (
    <div class="scroll" role="region" aria-label={title} tabIndex={0}>
      <Table class="answers" columns={columns} rows={answers} />
    </div>
  );
}

const AnswerText = ({ answer: { text, reading, wellFormed } }: { answer: SampleAnswer }) => (
  <>
    <code>{text === '' ? '(empty)' : text}</code>
    {!wellFormed && <Chip tone="warn">malformed</Chip>}
    {reading !== '' && wellFormed && <small>{reading}</small>}
  </>
);

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
  return reward > 0 ? formatFixed(reward) : 'wrong';
}
