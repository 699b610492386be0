import type { Evaluation } from '../../config/evaluation.ts';
import type { ServingSettings } from '../../config/serving.ts';
import {
  createChatEvaluationClient,
  createCompletionsEvaluationClient,
} from '../../inference/evaluation-client.ts';
import type { EvaluationClient } from '../../inference/evaluation-client.ts';
import { ensurePolicyServed, resendIfPolicyMissing } from '../../inference/publish.ts';
import type { EvaluatedPolicy } from '../../types/evaluation-types.ts';
import type { Dependencies } from '../dependencies.ts';

/** A policy that a server answers for. */
export type ServedPolicy = Exclude<EvaluatedPolicy, { type: 'gold' }>;

/** A run's agent that its server does not know, or has forgotten, is published there. */
export function createClientUnderTest(
  dependencies: Dependencies,
  policy: ServedPolicy,
  { temperature, maxTokens, requestTimeoutSeconds }: Evaluation,
): EvaluationClient {
  const serving = servingOf(policy);
  const model = policy.type === 'run' ? policy.version.name : policy.model;
  const underTest = { model, temperature, maxTokens };
  const runTimeoutSeconds = policy.type === 'run' ? (policy.requestTimeoutSeconds ?? 0) : 0;
  const timeoutMs = Math.max(requestTimeoutSeconds, runTimeoutSeconds) * 1000;
  let answered = 0;
  const onAnswered = (): void => dependencies.activityContext().heartbeat({ answered: ++answered });
  const client =
    policy.api === 'chat'
      ? createChatEvaluationClient(dependencies.chatClient(serving, timeoutMs), underTest, onAnswered)
      : createCompletionsEvaluationClient(dependencies.policyClient(serving, timeoutMs), underTest);
  if (policy.type !== 'run') return client;
  return {
    answer: (questions, signal) =>
      resendIfPolicyMissing(
        () => client.answer(questions, signal),
        (isDamaged) => ensurePolicyServed(dependencies, serving, policy.version, isDamaged),
      ),
  };
}

function servingOf(policy: ServedPolicy): ServingSettings {
  if (policy.type === 'run') return policy.serving;
  const { baseUrl, apiKeyEnv } = policy;
  return { type: 'openai', baseUrl, apiKeyEnv, publish: 'none', returnsTokenIds: false, models: null };
}
