import { readFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { serverResolver } from '../../src/inference/endpoints.ts';
import { createModelClients } from '../../src/worker/model-servers.ts';
import type { LanguageSettings } from '../../src/worlds/language/settings.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import type { FakeChat } from '../../test-support/fake-chat.ts';
import { fakeLanguageModel } from '../../test-support/fake-language-model.ts';
import type { LanguagePlayer } from '../../test-support/fake-language-model.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies } from '../../test-support/plain-epochs.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

/**
 * A run of a world in words (by default Language) on the embedded server, beside which an API with chat completions
 * is on the operator's list as `endpoint:api`.
 */
export async function runWithApi(
  fields: Record<string, unknown>,
  {
    permits = true,
    player = {},
    model,
    endpoints: listed = {},
  }: {
    permits?: boolean;
    player?: LanguagePlayer;
    model?: FakeModel;
    /** Besides the API on the operator's list. */
    endpoints?: Record<string, object>;
  } = {},
) {
  const home = await temporaryFolder();
  const file = withFields(
    withFields(exampleFile, {
      epochs: 3,
      world: { type: 'language', format: 'chatml', baseTasks: 6, heldOutPerCell: 1 },
      'agent.sampling.maxTokens': 400,
      'environment.sampling.maxTokens': 4000,
      'environment.promptsPerEpoch': 3,
      'environment.variationsPerPrompt': 2,
      'agent.rolloutsPerTask': 4,
      'durability.promptsPerRequest': 2,
      'durability.shards': 1,
    }),
    fields,
  );
  const settings = parseExperiment(file).world as LanguageSettings;
  const plays = model ?? fakeLanguageModel(settings, player);
  let answersLeft = Infinity;
  const chat: FakeChat = ([message], random, { model: name, response_format }) =>
    answersLeft-- > 0 ? plays(message!.content, random, name, response_format) : 503;
  const own = await FakeModelServer.start({ model: plays, seedRule: 'embedded' });
  const api = await FakeModelServer.start({ model: () => 'never', chat });
  onTestFinished(async () => {
    await own[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });
  const endpoints = { ...listed, ...(permits && { api: { baseUrl: api.url, apiKeyEnv: 'API_KEY' } }) };
  const trainer = new FakeTrainer();
  const ports = {
    ...plainDependencies(home, own.url, trainer),
    ...createModelClients(
      { policyServer: own.url, vllmServer: undefined },
      serverResolver({ variable: JSON.stringify({ endpoints }), homeFile: '' }, { API_KEY: 'secret' }),
      (_, request) => request(),
    ),
  };
  const activities = createActivities(ports);
  const { plan, prepared } = await begin(activities, 'split', file);
  const folder = ports.runFolder('split');
  return {
    own,
    api,
    /** The API's chat completions fail once so many were answered. */
    failsAfter: (answers: number) => void (answersLeft = answers),
    trainer,
    activities,
    plan,
    prepared,
    ports,
    file,
    ledger: () => readFile(folder.ledgerFile, 'utf8'),
    /** Lines of `metrics.jsonl`. */
    metrics: async () =>
      (await readFile(folder.metricsFile, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { metrics: Record<string, number> }).metrics),
  };
}
