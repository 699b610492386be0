import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../../store/canonical-json.ts';
import { referenceText } from '../prompts/data-text.ts';
import { querySchema } from './task.ts';
import type { Split } from './task.ts';
import { sandboxFrom, tablesFrom } from './train-sandbox.ts';
import type { Reference } from './train-sandbox.ts';

export const trainFiles = {
  queries: 'train_queries.jsonl',
  plans: 'train_gold_plans.jsonl',
  references: 'train_ref_info.jsonl',
  cities: 'city_state.json',
} as const;

const taskSchema = querySchema.extend({ idx: z.number().int() });
const planSchema = z.object({ idx: z.number().int(), plan: z.array(z.record(z.string(), z.unknown())) });

/**
 * The train split that comes with this project: 45 tasks with an annotated plan each, in a sandbox of the
 * rows that they refer to.
 */
export async function openTrain(folder: string): Promise<Split> {
  const read = (file: string): Promise<string> => readFile(join(folder, file), 'utf8');
  const [queries, plans, references, cities] = await Promise.all([
    read(trainFiles.queries),
    read(trainFiles.plans),
    read(trainFiles.references),
    read(trainFiles.cities),
  ]);
  const plansByIndex = new Map(
    lines(plans)
      .map((line) => planSchema.parse(line))
      .map(({ idx, plan }) => [idx, plan]),
  );
  const referencesInOrder = lines(references) as Reference[];
  return {
    tasks: lines(queries).map((line) => {
      const { idx, ...query } = taskSchema.parse(line);
      return { id: `train_${idx}`, idx, query };
    }),
    sandbox: sandboxFrom(
      tablesFrom(referencesInOrder),
      cityStates(JSON.parse(cities) as Record<string, string | null>),
    ),
    reference: ({ idx }) => referenceText(referencesInOrder[idx - 1]!),
    goldPlan: ({ idx }) => plansByIndex.get(idx),
    dataHash: sha256(JSON.stringify([queries, plans, references, cities].map((text) => sha256(text)))),
  };
}

/** The data lists some journeys (`Houston to Dallas`) as cities; no official list of cities has them. */
function cityStates(states: Readonly<Record<string, string | null>>): ReadonlyMap<string, string | null> {
  return new Map(Object.entries(states).filter(([city]) => !city.includes(' to ')));
}

function lines(text: string): unknown[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
