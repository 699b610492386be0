/** `cases.jsonl` of an evaluation, read as what it may be: anybody who shares the disk can write there. */
import { z } from 'zod';
import { parseOrNull } from '../store/json-files.ts';
import type { CaseLine } from '../types/evaluation-types.ts';

/** Longer than any text that this project writes there. */
const MAX_TEXT_CHARACTERS = 20_000;

const name = z.string().min(1).max(500);
const text = z.string().max(MAX_TEXT_CHARACTERS);

/** A line of `cases.jsonl`; fields of later versions are dropped. */
const caseLineSchema = z.object({
  suite: name,
  id: name,
  correct: z.boolean(),
  scores: z.record(z.string().max(100), z.number().nullable()),
  reason: text.nullable(),
  converted: z.literal(true).optional(),
  question: text.optional(),
  answer: text.optional(),
  gold: text.optional(),
});

export interface ReadCases {
  cases: CaseLine[];
  /** Lines that are no cases, by their numbers from 1. */
  unreadable: number[];
}

/** The cases of the text of a file, in their order. */
export function readCases(file: string): ReadCases {
  const cases: CaseLine[] = [];
  const unreadable: number[] = [];
  for (const [index, line] of file.split('\n').entries()) {
    if (line === '') continue;
    const { success, data } = caseLineSchema.safeParse(parseOrNull(line));
    if (success) cases.push(data as CaseLine);
    else unreadable.push(index + 1);
  }
  return { cases, unreadable };
}
