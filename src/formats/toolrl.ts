/** How ToolRL's system prompts write a thought and calls of tools, in its words. */
export const formatThoughtAndCalls = `<think> Your thoughts and reasoning </think>
<tool_call>
{"name": "Tool name", "parameters": {"Parameter name": "Parameter content", "... ...": "... ..."}}
{"name": "... ...", "parameters": {"... ...": "... ...", "... ...": "... ..."}}
...
</tool_call>`;

/** The text after any reasoning (`</think>`). */
export const stripReasoning = (text: string): string => text.split('</think>').at(-1)!;
