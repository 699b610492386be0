import type { Evaluation } from '../../contracts/evaluation.ts';
import type { EvaluatedPolicy } from '../../contracts/evaluations.ts';
import type { ServingSettings } from '../../contracts/policy-settings.ts';
import { ModelNotServed } from '../../policies/policy-server.ts';
import { chatQuestions, completionQuestions } from '../../policies/question-server.ts';
import type { QuestionServer } from '../../policies/question-server.ts';
import type { Ports } from '../ports.ts';
import { servePolicy } from '../serve-policy.ts';

/** Where the evaluated policy is asked. A run's agent that its server does not know, or has forgotten, is given to it. */
export function questionServerOf(
  ports: Ports,
  policy: Exclude<EvaluatedPolicy, { type: 'gold' }>,
  { temperature, maxTokens, requestTimeoutSeconds }: Evaluation,
): QuestionServer {
  const serving = servingOf(policy);
  const asked = { model: policy.type === 'run' ? policy.version.name : policy.model, temperature, maxTokens };
  const timeoutMs = requestTimeoutSeconds * 1000;
  let answered = 0;
  const beat = (): void => ports.attempt().heartbeat({ answered: ++answered });
  const server =
    policy.api === 'chat'
      ? chatQuestions(ports.chatServer(serving.type === 'embedded' ? null : serving, timeoutMs), asked, beat)
      : completionQuestions(ports.policyServer(serving, timeoutMs), asked);
  if (policy.type !== 'run') return server;
  return {
    async answer(questions, signal) {
      try {
        return await server.answer(questions, signal);
      } catch (error) {
        if (!(error instanceof ModelNotServed) || !(await servePolicy(ports, serving, policy.version)))
          throw error;
        return server.answer(questions, signal);
      }
    },
  };
}

function servingOf(policy: Exclude<EvaluatedPolicy, { type: 'gold' }>): ServingSettings {
  if (policy.type === 'run') return policy.serving;
  const { baseUrl, apiKeyEnv } = policy;
  return { type: 'openai', baseUrl, apiKeyEnv, publish: 'none', returnsTokenIds: false, models: null };
}
