import type { Message, ToolCall } from '../../../formats/chat-messages.ts';
import type { AttemptTools } from '../../suite.ts';
import type { PlanResponse } from '../case-verdict.ts';
import type { Sandbox } from '../data/sandbox.ts';
import { plannerQuestion } from '../prompts/planner.ts';
import { nativeInstruction, toolParameters, toolSpecs } from '../prompts/tool-specs.ts';
import { GiveUpRule, limits, MASKED_TEXT, PlannerTools } from './planner-tools.ts';
import type { ToolName } from './planner-tools.ts';

type ToolMessage = Extract<Message, { role: 'tool' }>;

/**
 * The two-stage agent by native tool calls: the same tools, notebook, planner and limits as by ReAct; a call
 * is a step.
 */
export async function planByNativeTools(
  query: string,
  sandbox: Sandbox,
  tools: AttemptTools,
): Promise<PlanResponse> {
  const plannerTools = new PlannerTools(sandbox);
  const giveUpRule = new GiveUpRule();
  const messages: Message[] = [
    { role: 'system', content: nativeInstruction },
    { role: 'user', content: `Query: ${query}` },
  ];
  /** Indices of messages whose data is not masked yet. */
  let data: number[] = [];
  let steps = 0;
  while (steps < limits.steps) {
    const answer = await tools.ask({ messages: [...messages], tools: toolSpecs });
    if (answer.toolCalls.length === 0)
      return {
        answer: '',
        steps,
        end:
          answer.finish_reason === 'prompt_too_long'
            ? 'prompt_too_long'
            : 'it ended without a call of Planner',
      };
    messages.push({ role: 'assistant', content: answer.text, toolCalls: answer.toolCalls });
    for (const call of answer.toolCalls) {
      if (steps === limits.steps) break;
      steps++;
      const args = readArguments(call);
      const end = giveUpRule.checkAction(call.name, `${call.name} ${call.arguments}`);
      if (end !== null) return { answer: '', steps, end };
      if (call.name === 'Planner' && args !== null) {
        const plan = await tools.ask(plannerQuestion(plannerTools.notebook, args[0]!));
        return { answer: plan.text.toWellFormed(), steps, end: plan.finish_reason };
      }
      const observation = args === null ? malformedCall(call) : plannerTools.call(call.name, args);
      giveUpRule.record(call.name, observation.failed);
      if (observation.masksData) {
        for (const index of data)
          messages[index] = { ...(messages[index] as ToolMessage), content: MASKED_TEXT };
        data = [];
      }
      messages.push({ role: 'tool', content: observation.text, toolCallId: call.id });
      if (observation.isData) data.push(messages.length - 1);
    }
  }
  return { answer: '', steps, end: `no plan within ${limits.steps} steps` };
}

/**
 * Arguments in the order of the official tools; none for an unknown tool, null if they do not fit its schema.
 */
function readArguments({ name, arguments: text }: ToolCall): string[] | null {
  if (!Object.hasOwn(toolParameters, name)) return [];
  const wanted = toolParameters[name as ToolName];
  try {
    const args = JSON.parse(text) as unknown;
    if (typeof args !== 'object' || args === null) return null;
    const values = wanted.map(([parameter]) =>
      Object.hasOwn(args, parameter) ? (args as Record<string, unknown>)[parameter] : undefined,
    );
    return values.every((value) => typeof value === 'string')
      ? values.map((value) => value.toWellFormed())
      : null;
  } catch {
    return null;
  }
}

const malformedCall = ({ name }: ToolCall): ReturnType<PlannerTools['call']> => ({
  text: `Illegal arguments of ${name}. Please try again.`,
  isData: false,
  masksData: false,
  failed: true,
});
