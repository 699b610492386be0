/** What a model is asked and answers, as chat completions have it. */

/** A call of a tool, its arguments as the model wrote them: JSON, if it keeps to its format. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

/** A tool as chat completions describe it; `parameters` is a JSON Schema. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: Readonly<Record<string, unknown>>;
}

/** A message of a conversation. */
export type Message =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls?: readonly ToolCall[] }
  | { role: 'tool'; content: string; toolCallId: string };

/** What a policy is asked: a conversation that it continues. */
export interface Question {
  messages: readonly Message[];
  /**
   * Given natively, to servers that take tools; suites that describe their tools in the prompt leave it out.
   */
  tools?: readonly ToolSpec[];
  /** Texts at which the answer ends. */
  stop?: readonly string[];
}

export interface Answer {
  text: string;
  /** Calls that the server parsed; empty where tools were not given natively. */
  toolCalls: readonly ToolCall[];
  /**
   * `length` where the answer was cut off, `prompt_too_long` where the policy could not read the question:
   * its text is then empty.
   */
  finish_reason: string;
  /** Tokens sampled; 0 where the server does not count them. */
  tokens: number;
}
