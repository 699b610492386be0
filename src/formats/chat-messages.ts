/** Questions and answers in the form of chat completions. */

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

/** The question to a policy: a conversation that it continues. */
export interface Question {
  messages: readonly Message[];
  /** Native tools; absent if the prompt describes the tools. */
  tools?: readonly ToolSpec[];
  /** Texts at which the answer ends. */
  stop?: readonly string[];
}

export interface Answer {
  text: string;
  /** Calls that the server parsed; empty without native tools. */
  toolCalls: readonly ToolCall[];
  /**
   * `length` if the answer was cut off, `prompt_too_long` if the question was too long for the policy: the
   * text is then empty.
   */
  finish_reason: string;
  /** Tokens sampled; 0 if the server does not count them. */
  tokens: number;
}
