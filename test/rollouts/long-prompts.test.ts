import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { generateCandidates } from '../../src/curriculum/generate-candidates.ts';
import type { CompletionRequest } from '../../src/inference/policy-client.ts';
import { openCompletionClient } from '../../src/rollouts/completion-requests.ts';
import type { CompletionClient } from '../../src/rollouts/completion-requests.ts';
import { streamRollouts } from '../../src/rollouts/rollout-loop.ts';
import type { Phase } from '../../src/runtime/run-once.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { hasSampledTokens } from '../../src/training/job-settings.ts';
import type { World } from '../../src/worlds/world.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { plainDependencies } from '../../test-support/plain-epochs.ts';
import { memoryFolder } from '../store/temporary-folder.ts';

const contextLength = 40;
const request: CompletionRequest = {
  model: 'agent',
  prompts: [],
  n: 1,
  seed: 3,
  temperature: 1,
  maxTokens: 4,
};

/** A phase in a world of which it needs little, and clients of one work folder. */
async function somePhase(world: object, model: FakeModel) {
  const server = await FakeModelServer.start({ model, contextLength, baseModel: { name: 'agent' } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const home = await memoryFolder();
  const work = await openWork(home, {
    experiment: 'some',
    epoch: 1,
    phase: 'generate',
    inputHash: '0'.repeat(64),
  });
  const serving = {
    type: 'openai',
    baseUrl: server.url,
    apiKeyEnv: null,
    publish: 'vllm-lora',
    returnsTokenIds: true,
    models: null,
  } as const;
  const phase: Phase = {
    experiment: { ...exampleExperiment(), serving },
    world: world as World,
    inputHash: '',
    work: () => Promise.resolve(work),
  };
  const open = (url = server.url): Promise<CompletionClient> =>
    openCompletionClient(plainDependencies(home, url, new FakeTrainer()), phase, {
      requests: 1,
      policies: [],
    });
  return { server, phase, open };
}

describe('a rollout of several turns that no longer fits', () => {
  it('ends with what the agent read last, and is learnt from up to there', async () => {
    const turns = {
      limit: 9,
      wordingPrompt: (_: string, actions: readonly string[]) => (actions.length < 9 ? 'w' : undefined),
      observe: () => ({ text: 'twelve chars', consistent: true }),
    };
    const { phase, open } = await somePhase({ turns }, () => 'go');
    await using client = await open();
    // 2 + 3 tokens, then 12 read and 3 written a turn: the third turn's prompt has 35, the fourth's 50.
    const [rollout, unread] = await collect(
      streamRollouts(
        client,
        phase,
        [{ request: { ...request, prompts: ['a=', 'x'.repeat(41)] }, items: ['a', 'x'] }],
        {
          specOf: (item) => item,
          simulator: null,
        },
      ),
    );
    const { sampled, turns: played } = rollout!;
    expect(sampled.finish_reason).toBe('prompt_too_long');
    expect(sampled.text).toBe('go\ngo\ngo');
    expect(played).toHaveLength(3);
    expect(played!.at(-1)).toMatchObject({ action: 'go', observation: 'twelve chars' });
    expect([sampled.mask!.length, sampled.logprobs.length]).toEqual([
      sampled.token_ids.length,
      sampled.token_ids.length,
    ]);
    expect(sampled.mask!.filter((bit) => bit === 1)).toHaveLength(9);
    expect(hasSampledTokens(sampled)).toBe(true);
    // A first prompt that is too long is no rollout at all.
    expect(unread!.sampled).toMatchObject({ finish_reason: 'prompt_too_long', token_ids: [], text: '' });
    expect(hasSampledTokens(unread!.sampled)).toBe(false);
  });

  it('is told in the world’s own words if the simulator has no room to word them', async () => {
    const turns = {
      limit: 2,
      wordingPrompt: (_: string, actions: readonly string[]) =>
        actions.length < 2 ? 'w'.repeat(contextLength) : undefined,
      observe: (_: string, __: readonly string[], wording: string | null) => ({
        text: wording ?? 'own',
        consistent: true,
      }),
    };
    const { phase, open } = await somePhase({ turns }, () => 'go');
    await using client = await open();
    const [rollout] = await collect(
      streamRollouts(client, phase, [{ request: { ...request, prompts: ['a='] }, items: ['a'] }], {
        specOf: (item) => item,
        simulator: { name: 'agent', checkpoint: null, trainer_state: null },
      }),
    );
    expect(rollout!.turns![0]).toMatchObject({ wording: null, observation: 'own', consistent: true });
  });
});

describe('a simulator', () => {
  const world = {
    parseTask: (text: string) =>
      text.startsWith('ok') ? { valid: true, spec: text } : { valid: false, reason: 'not_ok' },
    agentPrompt: (spec: string) => spec,
    repairs: { limit: 2, prompt: (context: string, text: string) => `${context}${text}again` },
  };

  it('is asked for no repair whose prompt is too long, nor after one', async () => {
    // The first prompt leaves room for its repair, the second does not, the third not even for an answer.
    const model: FakeModel = (prompt) => (prompt.includes('again') ? 'ok' : 'bad');
    const { phase, open, server } = await somePhase(world, model);
    await using client = await open();
    const items = ['a', 'b'.repeat(33), 'c'.repeat(40)].map((text) => ({ text }));
    const candidates = await generateCandidates(client, phase, {
      request: { ...request, prompts: items.map(({ text }) => text) },
      items,
    });
    expect(
      candidates.map(({ parsed, repairs, sampled, prompt }) => ({
        reason: parsed.valid ? '' : parsed.reason,
        repairs,
        text: sampled.text,
        isRepair: prompt.includes('again'),
      })),
    ).toEqual([
      { reason: '', repairs: 1, text: 'ok', isRepair: true },
      { reason: 'prompt_too_long', repairs: 0, text: 'bad', isRepair: false },
      { reason: 'prompt_too_long', repairs: 0, text: '', isRepair: false },
    ]);
    expect(server.requests.map(({ prompt }) => (prompt[0] as string)[0]).toSorted()).toEqual([
      'a',
      'a',
      'b',
      'b',
      'c',
    ]);
  });
});

describe('the context of a model', () => {
  it('is asked of its server once, for all attempts at the phase', async () => {
    const { open } = await somePhase({}, () => 'go');
    const roomFor = async (client: CompletionClient, tokens: number): Promise<boolean> =>
      client.hasRoomFor({ model: 'agent', maxTokens: 4 }, 'p'.repeat(tokens));
    {
      await using client = await open();
      expect(await roomFor(client, 36)).toBe(true);
      expect(await roomFor(client, 37)).toBe(false);
    }
    // A short prompt needs no tokens, and the context is recorded: nobody is asked.
    await using client = await open('http://127.0.0.1:1/v1');
    expect(await roomFor(client, 28)).toBe(true);
    await expect(roomFor(client, 29)).rejects.toThrow('does not answer');
  });
});
