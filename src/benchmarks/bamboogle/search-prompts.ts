import type { ToolSpec } from '../../formats/chat-messages.ts';
import { formatThoughtAndCalls } from '../../formats/toolrl.ts';

/** Its only tool, described natively. */
export const searchTool: ToolSpec = {
  name: 'Search',
  description: 'Search the answer for a specific query leveraging the google search engine',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'The query to search for.' } },
    required: ['query'],
  },
};

const assistant =
  'You are a helpful multi-turn dialogue assistant capable of leveraging tool calls to solve user tasks and provide structured chat responses.';

/** ToolRL's system prompt for Bamboogle, in its words. */
export const promptSystem = `${assistant}

**Available Tools**
In your response, you can use the following tools:
1. Name: Search
Description: Search the answer for a specific query leveraging the google search engine
Parameters: {"query": {"description": "The query to search for.", "type": "string", "default": ""}}

**Steps for Each Turn**
1. **Think:** Recall relevant context and analyze the current user goal.
2. **Decide on Tool Usage:** If a tool is needed, specify the tool and its parameters.
3. **Respond Appropriately:** If a response is needed, generate one while maintaining consistency across user queries.

**Output Format**
\`\`\`plaintext
${formatThoughtAndCalls}
<response> AI's final response </response>
\`\`\`

**Important Notes**
1. You must always include the \`<think>\` field to outline your reasoning. Provide at least one of \`<tool_call>\` or \`<response>\`. Decide whether to use \`<tool_call>\` (possibly multiple times), \`<response>\`, or both.
2. You can invoke multiple tool calls simultaneously in the \`<tool_call>\` fields. Each tool call should be a JSON object with a "name" field and an "parameters" field containing a dictionary of parameters. If no parameters are needed, leave the "parameters" field an empty dictionary.
3. Refer to the previous dialogue records in the history, including the user's queries, previous \`<tool_call>\`, \`<response>\`, and any tool feedback noted as \`<obs>\` (if exists).
`;

export const nativeSystem = 'You are a helpful assistant that can call a search tool to answer questions.';

export const searchQuestion = (question: string): string =>
  `${question}\nPerform tool call if you are not sure about the answer. Make a plan to solve the problem step by step.`;
export const results = (found: string): string => `Search results for the first tool call query:\n${found}`;
export const continuePrompt =
  'Please continue to search if needed. If you can obtain the answer, please do not call any tool and directly provide a succinct answer in the response.';
export const answerNow =
  'Do not make tool call any more. Please directly provide a succinct answer in your next response.';
