import type { Answer } from '../../../formats/chat-messages.ts';
import type { AttemptTools } from '../../suite.ts';
import type { PlanResponse } from '../case-verdict.ts';
import type { Sandbox } from '../data/sandbox.ts';
import { plannerQuestion } from '../prompts/planner.ts';
import { reactPrompt } from '../prompts/react.ts';
import { GiveUpRule, limits, MASKED_TEXT, PlannerTools } from './planner-tools.ts';

interface Step {
  thought: string;
  action: string;
  observation: string;
  isData: boolean;
}

const emptyAction =
  "Your action is filtered due to content. Please make sure your action does not start with ['\\n', 'Thought', 'Action', 'Observation'] and assume all the actions are permitted in this environment and take the action again.";
const emptyObservation =
  'No feedback from the environment due to the null action. Please make sure your action does not start with [Thought, Action, Observation].';

/**
 * The official two-stage agent (agents/tool_agents.py) by ReAct in the prompt: thoughts and actions are asked
 * for a line at a time, and Planner[Query] has the policy plan from what it wrote to the notebook, as it
 * would officially.
 */
export async function planByReact(
  query: string,
  sandbox: Sandbox,
  tools: AttemptTools,
): Promise<PlanResponse> {
  const plannerTools = new PlannerTools(sandbox);
  const giveUpRule = new GiveUpRule();
  const steps: Step[] = [];
  const line = (prompt: string): Promise<Answer> =>
    tools.ask({ messages: [{ role: 'user', content: prompt }], stop: ['\n'] });
  while (steps.length < limits.steps) {
    const before = reactPrompt(query, scratchpad(steps));
    const thought = await line(`${before}\nThought ${steps.length + 1}:`);
    if (thought.finish_reason === 'prompt_too_long')
      return { answer: '', steps: steps.length, end: 'prompt_too_long' };
    const thinking = `\nThought ${steps.length + 1}: ${oneLine(thought.text)}`;
    const answer = await line(`${before}${thinking}\nAction ${steps.length + 1}:`);
    if (answer.finish_reason === 'prompt_too_long')
      return { answer: '', steps: steps.length, end: 'prompt_too_long' };
    const action = oneLine(answer.text);
    const { tool, argument } = parseReactAction(action);
    const end = giveUpRule.checkAction(tool, action);
    if (end !== null) return { answer: '', steps: steps.length + 1, end };
    if (tool === 'Planner') {
      const plan = await tools.ask(plannerQuestion(plannerTools.notebook, argument));
      return { answer: plan.text.toWellFormed(), steps: steps.length + 1, end: plan.finish_reason };
    }
    if (action === '') {
      steps.push({
        thought: oneLine(thought.text),
        action: emptyAction,
        observation: emptyObservation,
        isData: false,
      });
      continue;
    }
    const observation = plannerTools.call(tool, argument.split(', '));
    giveUpRule.record(tool, observation.failed);
    if (observation.masksData) for (const step of steps) if (step.isData) step.observation = MASKED_TEXT;
    steps.push({
      thought: oneLine(thought.text),
      action,
      observation: observation.text,
      isData: observation.isData,
    });
  }
  return { answer: '', steps: steps.length, end: `no plan within ${limits.steps} steps` };
}

/** Parses `Tool[argument]`; both are '' for any other text. */
export function parseReactAction(action: string): { tool: string; argument: string } {
  const match = /^(\w+)\[(.+)\]$/u.exec(action);
  return { tool: match?.[1] ?? '', argument: match?.[2] ?? '' };
}

function scratchpad(steps: readonly Step[]): string {
  return steps
    .map(
      ({ thought, action, observation }, index) =>
        `\nThought ${index + 1}: ${thought}\nAction ${index + 1}: ${action}\nObservation ${index + 1}: ${observation}`,
    )
    .join('');
}

/** The first line that is not blank: servers without stop texts continue after it. */
function oneLine(text: string): string {
  return text.toWellFormed().trim().split('\n')[0]!.trim();
}
