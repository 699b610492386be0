import { difficultyReward } from '../../src/coevolution/difficulty-reward.ts';
import type { Experiment } from '../../src/config/experiment.ts';
import type { RandomStream } from '../../src/numerics/random.ts';
import type {
  FilterRecord,
  RewardRecord,
  Sampled,
  ScoreRecord,
  TaskRecord,
  TraceRecord,
  VerdictRecord,
} from '../../src/types/records.ts';
import type { World } from '../../src/worlds/world.ts';

/** What a made-up epoch consists of. */
export interface EpochFiles {
  tasks: TaskRecord[];
  traces: TraceRecord[];
  rewards: RewardRecord[];
  scores: ScoreRecord[];
  decisions: FilterRecord[];
}

export interface Skill {
  epoch: number;
  /** Chance that the agent gets one symbol right, and that its frozen copy does. */
  agent: number;
  frozen: number;
  /** Mean length of what the simulator writes. */
  length: number;
}

const symbols = 'abcdefghi'.split('');
const pad = (value: number) => String(value).padStart(2, '0');
const sampled = (text: string, role: string, epoch: number, seed: number): Sampled => ({
  policy_version: `${role}@${String(epoch).padStart(4, '0')}-3fa9c1`,
  seed,
  temperature: 1,
  prompt_token_ids: [1, 2, 3],
  token_ids: Array.from(text, (character) => character.charCodeAt(0)).concat(0),
  logprobs: Array.from(`${text}.`, () => -0.3),
  text,
  finish_reason: 'stop',
});

/** The reference answer with each symbol right by chance: a tiny agent's typical mistakes. */
export function answer(world: World, spec: string, right: number, random: RandomStream): string {
  const reference = world.referenceAnswer(spec);
  const text = Array.from(reference, (character) =>
    /[a-z]/.test(character) && random.next() > right ? random.pick(symbols) : character,
  ).join('');
  return random.next() < 0.02 ? text.slice(0, -1) : text;
}

export function makeEpoch(
  world: World,
  { environment, agent, difficulty }: Experiment,
  { epoch, agent: right, frozen, length }: Skill,
  random: RandomStream,
): EpochFiles {
  const files: EpochFiles = { tasks: [], traces: [], rewards: [], scores: [], decisions: [] };
  const seen = new Map<string, number>();
  const count = environment.promptsPerEpoch * environment.variationsPerPrompt;
  for (let index = 0; index < count; index++) {
    const id = `epoch-${String(epoch).padStart(4, '0')}/task-${pad(index)}`;
    const kind = random.pick(['T', 'U', 'V', 'W']);
    const size = Math.max(
      1,
      Math.min(24, Math.round(length + 2.2 * (random.next() + random.next() + random.next() - 1.5))),
    );
    const argument = Array.from({ length: size }, () => random.pick(symbols)).join('');
    const slip = random.next();
    const raw = taskText(kind, argument, slip);
    const parsed = world.parseTask(raw);
    const spec = parsed.valid ? parsed.spec : null;
    const repeats = spec === null ? 0 : (seen.get(spec) ?? 0);
    if (spec !== null) seen.set(spec, repeats + 1);
    const origin = {
      id,
      source: 'new' as const,
      batch_id: `epoch-${epoch}/batch-${Math.floor(index / environment.variationsPerPrompt)}`,
      simulator: index % 8 === 0 ? ('initial' as const) : ('current' as const),
      repeats,
    };
    files.tasks.push({
      ...origin,
      context: `H4T7U3V5W5FT9F__|${kind}:${argument}=`,
      history_success: 0.43,
      valid: parsed.valid,
      invalid_reason: parsed.valid ? '' : parsed.reason,
      spec,
      prompt: spec === null ? '' : world.agentPrompt(spec),
      kind: spec === null ? '' : world.kind(spec),
      difficulty: spec === null ? 0 : world.difficulty(spec),
      latents: spec === null ? {} : world.latents(spec),
      sampled: sampled(raw, 'environment', epoch, 1000 * epoch + index),
    });
    addOutcome(
      files,
      world,
      { id, spec, epoch, right, frozen, attempts: agent.rolloutsPerTask, difficulty },
      random,
    );
  }
  return files;
}

/** What the simulator writes; sometimes it slips. */
function taskText(kind: string, argument: string, slip: number): string {
  if (slip < 0.03) return `${kind}${argument}`;
  return slip < 0.045 ? `${kind}:<b>&</script>` : `${kind}:${argument}`;
}

function filterReason(rate: number | null): string {
  if (rate === null) return 'not measured';
  if (Math.abs(rate - 0.5) <= 0.4) return 'kept';
  return rate > 0.5 ? 'too easy' : 'too hard';
}

interface MadeTask {
  id: string;
  spec: string | null;
  epoch: number;
  right: number;
  frozen: number;
  attempts: number;
  difficulty: { alpha: number; beta: number };
}

function addOutcome(
  files: EpochFiles,
  world: World,
  { id, spec, epoch, right, frozen, attempts, difficulty }: MadeTask,
  random: RandomStream,
): void {
  const rewards: number[] = [];
  let frozenRate: number | null = null;
  if (spec !== null) {
    for (let rollout = 0; rollout <= attempts; rollout++) {
      const role = rollout < attempts ? ('agent' as const) : ('frozen' as const);
      const text = answer(world, spec, role === 'agent' ? right : frozen, random);
      const { reward, wellFormed } = world.score(spec, text);
      if (role === 'agent') rewards.push(reward);
      else frozenRate = reward;
      const trace = {
        id: `${id}/${role === 'agent' ? `rollout-${pad(rollout)}` : 'frozen-00'}`,
        task_id: id,
        role,
      };
      files.traces.push({
        ...trace,
        sampled: sampled(
          text,
          role === 'agent' ? 'agent' : 'agent-initial',
          role === 'agent' ? epoch : 0,
          rollout,
        ),
      });
      files.rewards.push({
        ...trace,
        reward,
        second_reward: reward,
        well_formed: wellFormed,
        advantage: 0,
        answer: text,
      });
    }
  }
  const successes = rewards.filter((reward) => reward >= 1).length;
  const rate = rewards.length === 0 ? null : successes / rewards.length;
  for (const record of files.rewards)
    if (record.task_id === id && record.role === 'agent') record.advantage = record.reward - (rate ?? 0);
  files.scores.push({
    task_id: id,
    source: 'new',
    kind: spec === null ? '' : world.kind(spec),
    difficulty: spec === null ? 0 : world.difficulty(spec),
    valid: spec !== null,
    attempts: rewards.length,
    successes,
    success_rate: rate,
    target_rate: rate,
    frozen_rate: frozenRate,
    random_rate: rate === null ? null : 0,
    informative: successes > 0 && successes < rewards.length,
    env_reward: rate === null ? null : difficultyReward(rate, difficulty),
    guard: rate === null ? 0 : 1,
  });
  const reason = filterReason(rate);
  files.decisions.push({
    task_id: id,
    kept_for_agent: rate !== null,
    kept_for_environment: reason === 'kept',
    reason,
  });
}

export function makeVerdicts(
  world: World,
  specs: readonly string[],
  { right, epoch }: { right: number; epoch: number },
  random: RandomStream,
): VerdictRecord[] {
  return specs.map((spec, index) => {
    const text = answer(world, spec, right, random);
    return {
      task_id: `held-out/task-${index}`,
      kind: world.kind(spec),
      difficulty: world.difficulty(spec),
      sample: 0,
      reward: world.score(spec, text).reward,
      answer: text,
      policy_version: `agent@${epoch}`,
      seed: index,
    };
  });
}
