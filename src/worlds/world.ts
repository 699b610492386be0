import type { AgentHistory } from '../coevolution/agent-history.ts';
import type { RandomStream } from '../numerics/random.ts';

/** A task in the world's own canonical text: equal text, equal task. */
export type TaskSpec = string;

/** What makes a task hard, as numbers and names: reported, never fed to training. */
export type Latents = Record<string, number | string>;

export interface Verdict {
  /** In [0, 1]. */
  reward: number;
  /** The answer parses as what the task asks for. */
  wellFormed: boolean;
}

export type ParsedTask = { valid: true; spec: TaskSpec } | { valid: false; reason: string };

/** A prompt and the text that should follow it: a row of a supervised corpus. */
export interface CorpusRow {
  prompt: string;
  completion: string;
  /** In a world of several turns: what the policy reads then, and what it should write. */
  more?: readonly { read: string; write: string }[];
}

/**
 * How a world answers the agent between its turns. The state follows from the task and the agent's actions
 * alone; the simulator only words it.
 */
export interface TurnRules {
  /** Maximum actions of a rollout. */
  readonly limit: number;
  /**
   * The simulator's prompt to word the outcome of the last action; null if the world words it itself;
   * undefined if the rollout is over.
   */
  wordingPrompt(spec: TaskSpec, actions: readonly string[]): string | null | undefined;
  /**
   * What the agent reads next: the simulator's wording; or the world's own if the wording contradicts what
   * happened (`consistent` false) or there is none (null, as in evaluations).
   */
  observe(
    spec: TaskSpec,
    actions: readonly string[],
    wording: string | null,
  ): { text: string; consistent: boolean };
}

/** A task that the simulator is shown, and the R_env that it earned. */
export interface Exemplar {
  spec: TaskSpec;
  reward: number;
}

/** Asking the simulator again when its text is not a valid task. */
export interface Repairs {
  /** Maximum times that a text is asked for again. */
  readonly limit: number;
  /** The simulator's next prompt, after its text for a context was refused for a reason. */
  prompt(context: string, text: string, reason: string): string;
}

/** A vote of an independent solver on labels that the simulator wrote and code cannot check. */
export interface LabelVote {
  /** Answers to a task. */
  readonly votes: number;
  /** Share of answers that must agree with the label. */
  readonly agreement: number;
  /** A model of its own server that votes, and how it is asked; absent if the initial agent votes. */
  readonly solver?: {
    readonly model: string;
    readonly temperature?: number | undefined;
    readonly maxTokens?: number | undefined;
    /** What it reads: the agent's question in a frame that its server takes. */
    prompt: (spec: TaskSpec) => string;
  };
  /** Whether the simulator wrote the task's label. */
  needed(spec: TaskSpec): boolean;
  /** How many answers agree with the label, and whether a majority agrees on another one. */
  tally(spec: TaskSpec, answers: readonly string[]): { agreeing: number; disputed: boolean };
}

/** Asking a model for the words of a task whose label code has computed. */
export interface TaskWording {
  /** A model of its own server that words, and how it is asked; absent if the simulator does. */
  readonly server?: {
    readonly model: string;
    readonly temperature?: number | undefined;
    readonly maxTokens?: number | undefined;
  };
  prompt(spec: TaskSpec): string;
  /** The task in these words; undefined if they do not say what they must: it keeps the code's own. */
  apply(spec: TaskSpec, text: string): TaskSpec | undefined;
}

/** An answer and its reference, of which a model of embeddings says how similar they are. */
export interface ComparedTexts {
  answer: string;
  reference: string;
}

/** Comparing free-form answers with their references by embeddings. */
export interface AnswerEmbedding {
  /** The model that embeds, frozen and behind a server of its own. */
  readonly model: string;
  /** Undefined if code alone decides on the answer. */
  comparedTexts(spec: TaskSpec, answer: string): ComparedTexts | undefined;
}

/**
 * A family of tasks. The simulator model writes a task as text; everything that decides success is code, so
 * no model judges its own work. All methods are pure: randomness comes from the stream they are given.
 */
export interface World {
  readonly name: string;
  /** Characters of the texts of this world, for tokenizers made from scratch. */
  readonly vocabulary: readonly string[];
  /** The user's own tasks, which seed the simulator. */
  baseTasks(random: RandomStream): TaskSpec[];
  /** Held-out tasks that the simulator never sees. */
  heldOutTasks(random: RandomStream): TaskSpec[];
  /**
   * A task about this hard, for curricula set by hand: the nearest that the world has. Only for worlds that
   * can say what makes a task hard.
   */
  taskAt?(difficulty: number, random: RandomStream): TaskSpec;
  /**
   * A task of a cell of the held-out grid, each cell as likely: domain randomisation, for arms without a
   * simulator. It may be a held-out task by chance. Only for worlds whose code draws tasks.
   */
  uniformTask?(random: RandomStream): TaskSpec;
  /** What the simulator is given: the agent's history and a task to vary. */
  environmentPrompt(history: AgentHistory, seedTask: TaskSpec): string;
  /**
   * The same with tasks that earned much, for simulators that learn from their prompt alone. Only for worlds
   * that can show them.
   */
  exemplarPrompt?(history: AgentHistory, seedTask: TaskSpec, exemplars: readonly Exemplar[]): string;
  /**
   * JSON Schema of the simulator's texts, for servers with structured outputs; absent if they are not JSON.
   */
  readonly taskSchema?: Readonly<Record<string, unknown>>;
  /**
   * Grammar of the simulator's texts in xgrammar's EBNF, for the same servers; absent if there is none. Of a
   * schema and a grammar, a world has one.
   */
  readonly taskGrammar?: string;
  /** Absent if an invalid text is not asked for again. */
  readonly repairs?: Repairs;
  /** Absent if code computes every label, or the simulator's labels are trusted. */
  readonly vote?: LabelVote;
  /** Absent if a task is worded by who writes it. */
  readonly wording?: TaskWording;
  /** Absent if code alone compares answers with their references. */
  readonly embedding?: AnswerEmbedding;
  /** Parses the simulator's text into a task, or returns the reason it is invalid. */
  parseTask(text: string): ParsedTask;
  /** What the agent is given. */
  agentPrompt: (spec: TaskSpec) => string;
  /** The family that success is counted by. */
  kind(spec: TaskSpec): string;
  /**
   * Key shared by near copies, in a few words: the simulator is told which ones it wrote too often. Optional.
   */
  signature?(spec: TaskSpec): string;
  /** One number that grows with difficulty. */
  difficulty(spec: TaskSpec): number;
  /**
   * What `difficulty` counts, in a word or two: reports show its course under that name. Absent if it says
   * little of how hard a task is, as a number of words does.
   */
  readonly difficultyUnit?: string;
  latents(spec: TaskSpec): Latents;
  /** Set in a world whose tasks take several turns. An answer to such a task is its actions, one a line. */
  readonly turns?: TurnRules;
  /** Reward from which an attempt counts as solved, in [0, 1]; absent = 1. */
  readonly solvedFrom?: number;
  /**
   * The checker's verdict on an answer. `chance` is the rollout's own; only a world whose verdicts are left
   * to chance draws from it. `similarity` is what `embedding` says of the answer, if it says anything.
   */
  score(spec: TaskSpec, answer: string, chance?: RandomStream, similarity?: number): Verdict;
  /** Class of an incorrect answer, in a few words; absent if the simulator is not told. */
  failure?(spec: TaskSpec, answer: string): string;
  referenceAnswer(spec: TaskSpec): string;
  /**
   * True if to each held-out task the reference answer alone is right, character by character: its probability
   * is then the agent's success.
   */
  readonly hasUniqueAnswers?: boolean;
  /** An answer of the right shape drawn blindly. */
  randomAnswer(spec: TaskSpec, random: RandomStream): string;
  /** The task and an answer as structured data, for people to read. */
  renderTask(spec: TaskSpec): object;
  renderAnswer(answer: string): object;
  /** Rows to warm a policy up with: all that one from scratch ever reads, the cold start of a pretrained one. */
  warmUpCorpus(policy: 'agent' | 'environment', rows: number, random: RandomStream): Iterable<CorpusRow>;
}

/** Whether an attempt with this reward counts as a success in the world. */
export const isSolved = ({ solvedFrom = 1 }: Pick<World, 'solvedFrom'>, reward: number): boolean =>
  reward >= solvedFrom;
