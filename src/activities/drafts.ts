import { deriveSeed } from '../coevolution/seeds.ts';
import type { LabelRecord, Sampled } from '../contracts/records.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { Completion, CompletionRequest } from '../policies/policy-server.ts';
import type { ParsedTask, World } from '../worlds/world.ts';
import { readTask } from './contamination-guard.ts';
import type { Phase } from './phase.ts';
import type { Ask } from './requests-in-turn.ts';
import { planRequests, sampled } from './sample.ts';
import type { Planned } from './sample.ts';

/** What the simulator wrote for one prompt, as it finally stands. */
export interface Draft<Item> {
  item: Item;
  sample: number;
  /** What it was told before it wrote this. */
  prompt: string;
  sampled: Sampled;
  parsed: ParsedTask;
  /** Times it was asked again; absent in worlds that take the first text. */
  repairs?: number;
  /** Absent in worlds whose labels need no vote. */
  label?: LabelRecord;
}

/** What the server is told of the form of a task, where it can use it. */
export const heldTo = ({ serving }: Experiment, { taskSchema }: World): Pick<CompletionRequest, 'schema'> =>
  taskSchema !== undefined && serving.type === 'openai' && serving.structuredOutput === 'json_schema'
    ? { schema: taskSchema }
    : {};

/** Asks for tasks, and again for each text that is none, as often as the world allows. */
export async function writeDrafts<Item extends { text: string }>(
  ask: Ask,
  context: Phase,
  { request, items }: Planned<Item>,
): Promise<Draft<Item>[]> {
  const {
    experiment: { durability },
    world,
  } = context;
  const { repairs } = world;
  const drafts = (await ask(request)).map((completion): Draft<Item> => {
    const item = items[completion.prompt]!;
    return {
      item,
      sample: completion.sample,
      prompt: item.text,
      ...read(world, request, completion),
      ...(repairs && { repairs: 0 }),
    };
  });
  for (let round = 1; round <= (repairs?.limit ?? 0); round++) {
    const again = drafts.flatMap((draft) =>
      draft.parsed.valid
        ? []
        : [{ draft, prompt: repairs!.prompt(draft.item.text, draft.sampled.text, draft.parsed.reason) }],
    );
    const planned = planRequests(again, durability.promptsPerRequest, (chunk, index): CompletionRequest => ({
      ...request,
      prompts: chunk.map(({ prompt }) => prompt),
      n: 1,
      seed: deriveSeed(request.seed, 'repair', round, index),
    }));
    for (const one of planned) {
      for (const completion of await ask(one.request)) {
        const { draft, prompt } = one.items[completion.prompt]!;
        Object.assign(draft, { prompt, repairs: round }, read(world, one.request, completion));
      }
    }
  }
  return drafts;
}

const read = (
  world: World,
  request: CompletionRequest,
  completion: Completion,
): Pick<Draft<never>, 'sampled' | 'parsed'> => ({
  sampled: sampled(request, completion),
  parsed:
    completion.finish_reason === 'length'
      ? { valid: false, reason: 'cut_off' }
      : readTask(world, completion.text),
});
