import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Message, ToolCall, ToolSpec } from '../../formats/chat-messages.ts';
import { Sidecar } from '../sidecar.ts';
import type { Case, Missing } from '../suite.ts';
import type { CategoryName } from './categories.ts';

/** The part of an answer that is stored and judged. */
export interface RecordedAnswer {
  text: string;
  toolCalls: readonly Pick<ToolCall, 'name' | 'arguments'>[];
  /** Set if the question was too long: an answer without calls then does not count. */
  unread?: true;
}

/** Answers by turn and step; a single-turn case has one of each. */
export type TurnCalls = readonly (readonly RecordedAnswer[])[];

export interface BfclCase extends Case {
  /** New messages of each turn. Null tools: unchanged, or described in the prompt. */
  turns: readonly { messages: readonly Message[]; tools: readonly ToolSpec[] | null }[];
  /** The gold answers. */
  gold: TurnCalls;
}

/** Results of one answer's calls: texts in the order of the calls, and the same as one user message. */
export interface Step {
  results: readonly string[];
  feedback: string;
}

/** `error` says why the throw-away process failed (`more than 10 s of CPU time`); then nothing ran. */
export type LastTurn =
  { ran: { steps: readonly Step[]; ended: boolean }; error: null } | { ran: null; error: string };

export interface RawVerdict {
  valid: boolean;
  reason: string | null;
  error: string | null;
  /** Whether the official decoder would have refused the answer, or one of the episode’s. */
  converted?: boolean;
}

interface CategoryData {
  cases: BfclCase[];
  dataHash: string;
  version: string;
}

/** The official code for one category, in its own process. */
export class BfclEngine {
  readonly #sidecar: Sidecar;
  readonly data: CategoryData;

  private constructor(sidecar: Sidecar, described: CategoryData) {
    this.#sidecar = sidecar;
    this.data = described;
  }

  /** @throws SidecarFailed, or the signal's reason if it aborts */
  static async open(
    {
      python,
      category,
      toolFormat,
    }: { python: string; category: CategoryName; toolFormat: 'prompt' | 'native' },
    signal?: AbortSignal,
  ): Promise<BfclEngine | Missing> {
    const sidecar = new Sidecar({
      name: `bfcl ${category}`,
      python,
      arguments: [
        '-X',
        'utf8',
        '-s',
        fileURLToPath(new URL('sidecar', import.meta.url)),
        category,
        toolFormat,
      ],
      // Simulated services print times and sets.
      variables: { TZ: 'UTC0', PYTHONHASHSEED: '0' },
      folder: tmpdir(),
    });
    let described: CategoryData | Missing;
    try {
      described = await sidecar.ask<CategoryData | Missing>({ ask: 'cases' }, signal);
    } catch (error) {
      await sidecar.close();
      throw error;
    }
    if (!('missing' in described)) return new BfclEngine(sidecar, described);
    await sidecar.close();
    return described;
  }

  /** Replays an episode so far and returns the results of its last turn. */
  lastTurn(id: string, turns: TurnCalls, signal: AbortSignal): Promise<LastTurn> {
    return this.#sidecar.ask({ ask: 'last-turn', case: id, turns }, signal);
  }

  /** Verdicts on whole cases, in order. */
  judge(answered: readonly { id: string; turns: TurnCalls }[], signal: AbortSignal): Promise<RawVerdict[]> {
    return this.#sidecar.ask({ ask: 'judge', answered }, signal);
  }

  /** Verdicts on the last turn of each, in order; the turns before it should be the gold ones. */
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
