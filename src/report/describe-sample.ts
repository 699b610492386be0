import { updatesOf } from '../runs/epoch-index.ts';
import type { FilterRecord, RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../types/records.ts';
import type { World } from '../worlds/world.ts';

/** One rollout of a task. */
export interface SampleAnswer {
  id: string;
  role: 'agent' | 'frozen';
  text: string;
  /** The world's reading of it, as JSON. */
  reading: string;
  reward: number | null;
  disputed: boolean;
  wellFormed: boolean;
  advantage: number | null;
  tokens: number | null;
  finish: string;
}

/** A task with its outcome, as the task browser of the page shows it. */
export interface Sample {
  id: string;
  epoch: number;
  source: string;
  simulator: string;
  kind: string;
  difficulty: number;
  valid: boolean;
  invalidReason: string;
  repeats: number;
  context: string;
  /** The agent's recent success that the context tells of. */
  historySuccess: number | null;
  raw: string;
  prompt: string;
  /** The task for people, as JSON; the text itself if it is not a valid task. */
  task: string;
  reference: string;
  successes: number | null;
  attempts: number | null;
  rate: number | null;
  targetRate: number | null;
  frozenRate: number | null;
  randomRate: number | null;
  envReward: number | null;
  guard: number | null;
  keptForAgent: boolean | null;
  /** Null if it is not the simulator's to learn from: a task of an earlier epoch, or a base task. */
  keptForSimulator: boolean | null;
  reason: string;
  policy: string;
  seed: number | null;
  answers: SampleAnswer[];
}

interface TaskOutcome {
  score: ScoreRecord | undefined;
  decision: FilterRecord | undefined;
  rewards: readonly RewardRecord[];
  traces: readonly TraceRecord[];
  world: World | null;
}

export function describeSample(
  epoch: number,
  task: TaskRecord,
  { score, decision, rewards, traces, world }: TaskOutcome,
): Sample {
  const { spec } = task;
  const canRender = world !== null && spec !== null;
  return {
    id: task.id,
    epoch,
    source: task.source,
    simulator: task.simulator,
    kind: task.kind,
    difficulty: task.difficulty,
    valid: task.valid,
    invalidReason: task.invalid_reason,
    repeats: task.repeats,
    context: task.context,
    historySuccess: task.history_success,
    raw: task.sampled?.text ?? spec ?? '',
    prompt: task.prompt,
    task: canRender ? tryRender(() => JSON.stringify(world.renderTask(spec), null, 2)) || spec : (spec ?? ''),
    reference: canRender ? tryRender(() => world.referenceAnswer(spec)) : '',
    successes: score?.successes ?? null,
    attempts: score?.attempts ?? null,
    rate: score?.success_rate ?? null,
    targetRate: score?.target_rate ?? null,
    frozenRate: score?.frozen_rate ?? null,
    randomRate: score?.random_rate ?? null,
    envReward: score?.env_reward ?? null,
    guard: score?.guard ?? null,
    ...(decision === undefined
      ? { keptForAgent: null, keptForSimulator: null }
      : updatesOf(decision, task.source)),
    reason: decision?.reason ?? '',
    policy: task.sampled?.policy_version ?? '',
    seed: task.sampled?.seed ?? null,
    answers: answersOf(rewards, traces, world),
  };
}

/**
 * One answer for each reward, with its trace. A trace without a reward is shown too, and a reward without a
 * trace.
 */
function answersOf(
  rewards: readonly RewardRecord[],
  traces: readonly TraceRecord[],
  world: World | null,
): SampleAnswer[] {
  const rewardOf = new Map(rewards.map((reward) => [reward.id, reward]));
  const traceOf = new Map(traces.map((trace) => [trace.id, trace]));
  return [...new Set([...rewardOf.keys(), ...traceOf.keys()])].map((id) => {
    const [reward, trace] = [rewardOf.get(id), traceOf.get(id)];
    const text = trace?.sampled.text ?? reward?.answer ?? '';
    return {
      id,
      role: reward?.role ?? trace?.role ?? 'agent',
      text,
      reading: world === null ? '' : tryRender(() => JSON.stringify(world.renderAnswer(text))),
      reward: reward?.reward ?? null,
      disputed: reward !== undefined && reward.reward !== reward.second_reward,
      wellFormed: reward?.well_formed ?? true,
      advantage: reward?.advantage ?? null,
      tokens: trace?.sampled.token_ids.length ?? null,
      finish: trace?.sampled.finish_reason ?? '',
    };
  });
}

/** A world that has changed since may not be able to render an old task: the report shows the rest. */
function tryRender(render: () => string): string {
  try {
    return render();
  } catch {
    return '';
  }
}
