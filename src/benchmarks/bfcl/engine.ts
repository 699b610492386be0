import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Message, ToolCall, ToolSpec } from '../../formats/chat-messages.ts';
import { Sidecar } from '../sidecar.ts';
import type { Case, Missing } from '../suite.ts';
import type { CategoryName } from './categories.ts';

/** What is kept of an answer, and judged. */
export interface RecordedAnswer {
  text: string;
  toolCalls: readonly Pick<ToolCall, 'name' | 'arguments'>[];
  /** Where the policy could not read the question: no calls in its text are then no answer. */
  unread?: true;
}

/** Answers by turn and step; a single-turn case has one of each. */
export type TurnCalls = readonly (readonly RecordedAnswer[])[];

export interface BfclCase extends Case {
  /**
   * What is said at the beginning of each turn. Tools that are null stay as they were, or are described in
   * the prompt.
   */
  turns: readonly { messages: readonly Message[]; tools: readonly ToolSpec[] | null }[];
  /** Answers that know the truth. */
  gold: TurnCalls;
}

/**
 * What one answer's calls gave: texts in the order of the calls, and the same as one message of prompting.
 */
export interface Step {
  results: readonly string[];
  feedback: string;
}

/**
 * Error says why the throw-away process did not end well (`more than 10 s of CPU time`); then nothing ran.
 */
export type LastTurn =
  { ran: { steps: readonly Step[]; ended: boolean }; error: null } | { ran: null; error: string };

export interface RawVerdict {
  valid: boolean;
  reason: string | null;
  error: string | null;
  /** Whether the official decoder would have refused the answer; single-turn only. */
  converted?: boolean;
}

interface CategoryData {
  cases: BfclCase[];
  dataHash: string;
  version: string;
}

/** The official code for one category, in a process of its own. */
export class BfclEngine {
  readonly #sidecar: Sidecar;
  readonly data: CategoryData;

  private constructor(sidecar: Sidecar, described: CategoryData) {
    this.#sidecar = sidecar;
    this.data = described;
  }

  /** @throws SidecarFailed */
  static async open(
    python: string,
    category: CategoryName,
    toolFormat: 'prompt' | 'native',
  ): Promise<BfclEngine | Missing> {
    const sidecar = new Sidecar({
      name: `bfcl ${category}`,
      command: python,
      arguments: [
        '-X',
        'utf8',
        '-s',
        fileURLToPath(new URL('sidecar', import.meta.url)),
        category,
        toolFormat,
      ],
      // Simulated services print times and sets.
      environment: { TZ: 'UTC0', PYTHONHASHSEED: '0' },
      folder: tmpdir(),
    });
    let described: CategoryData | Missing;
    try {
      described = await sidecar.ask<CategoryData | Missing>({ ask: 'cases' });
    } catch (error) {
      await sidecar.close();
      throw error;
    }
    if (!('missing' in described)) return new BfclEngine(sidecar, described);
    await sidecar.close();
    return described;
  }

  /** Runs an episode as far as it has come, from its beginning, and gives what its last turn did. */
  lastTurn(id: string, turns: TurnCalls, signal: AbortSignal): Promise<LastTurn> {
    return this.#sidecar.ask({ ask: 'last-turn', case: id, turns }, signal);
  }

  /** Verdicts on whole cases, in order. */
  judge(answered: readonly { id: string; turns: TurnCalls }[], signal: AbortSignal): Promise<RawVerdict[]> {
    return this.#sidecar.ask({ ask: 'judge', answered }, signal);
  }

  /** Verdicts on the last of the given turns of each, in order; those before it should be the truth's own. */
  judgeTurns(
    answered: readonly { id: string; turns: TurnCalls }[],
    signal: AbortSignal,
  ): Promise<RawVerdict[]> {
    return this.#sidecar.ask({ ask: 'judge-turns', answered }, signal);
  }

  close(): Promise<void> {
    return this.#sidecar.close();
  }
}
