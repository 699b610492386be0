import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readLiteral } from '../../../formats/python-literal.ts';
import { sha256 } from '../../../store/canonical-json.ts';
import type { Missing } from '../../suite.ts';
import { csvRows } from './csv.ts';
import { databaseFiles, databaseSandbox } from './database.ts';
import { querySchema, splitSizes } from './task.ts';
import type { Split } from './task.ts';

const literal = z.string().transform((text) => readLiteral(text)?.value);
const number = z.coerce.number();

/** A row of validation.csv: lists and records are Python literals in it. */
const rowSchema = querySchema.extend({
  days: number.pipe(querySchema.shape.days),
  visiting_city_number: number.pipe(querySchema.shape.visiting_city_number),
  people_number: number.pipe(querySchema.shape.people_number),
  budget: number.pipe(querySchema.shape.budget),
  date: literal.pipe(querySchema.shape.date),
  local_constraint: literal.pipe(querySchema.shape.local_constraint),
  reference_information: z.string(),
});

/** The validation split as the authors publish it: 180 queries without plans, and the database. */
export async function openValidation(folder: string): Promise<Split | Missing> {
  const database = Object.fromEntries(
    Object.entries(databaseFiles).map(([name, file]) => [name, join(folder, 'database', file)]),
  ) as Record<keyof typeof databaseFiles, string>;
  const files = { queries: join(folder, 'validation.csv'), ...database };
  const missing = await findMissing(Object.values(files));
  if (missing.length > 0) return { missing: downloadInstructions(folder, missing) };
  const contents = await Promise.all(
    Object.entries(files).map(async ([name, file]) => [name, await readFile(file)] as const),
  );
  const bytes = Object.fromEntries(contents) as Record<keyof typeof files, Buffer>;
  const rows = csvRows(bytes.queries.toString());
  if (rows.length !== splitSizes.validation.tasks)
    return {
      missing: `${files.queries} has ${rows.length} queries, and the validation split has ${splitSizes.validation.tasks}: download it again`,
    };
  const queries = rows.map((row, index) => readRow(row, index + 1));
  return {
    tasks: queries.map(({ task }) => task),
    sandbox: databaseSandbox(bytes),
    reference: ({ idx }) => queries[idx - 1]!.reference,
    goldPlan: () => undefined,
    dataHash: sha256(JSON.stringify(contents.map(([, content]) => sha256(content)))),
  };
}

/** Opens the split of a folder once for all who use it: the database has 3.8 million flights. */
export function createValidationCache(): typeof openValidation {
  const reading = new Map<string, Promise<Split | Missing>>();
  const opened = new Map<string, WeakRef<Split>>();
  return async (folder) => {
    const held = opened.get(folder)?.deref();
    if (held !== undefined) return held;
    const split = reading.get(folder) ?? openValidation(folder);
    reading.set(folder, split);
    try {
      const read = await split;
      if (!('missing' in read)) opened.set(folder, new WeakRef(read));
      return read;
    } finally {
      reading.delete(folder);
    }
  };
}

function readRow(
  row: Readonly<Record<string, string>>,
  idx: number,
): { task: Split['tasks'][number]; reference: string } {
  const read = rowSchema.safeParse(row);
  if (!read.success)
    throw new Error(`validation.csv: query ${idx} cannot be read: ${z.prettifyError(read.error)}`);
  const { reference_information: reference, ...query } = read.data;
  return { task: { id: `validation_${idx}`, idx, query }, reference };
}

async function findMissing(files: readonly string[]): Promise<string[]> {
  const results = await Promise.allSettled(files.map((file) => access(file)));
  return files.filter((_, index) => results[index]!.status === 'rejected');
}

function downloadInstructions(folder: string, missing: readonly string[]): string {
  return [
    `TravelPlanner's validation split is not here. Not found: ${missing.join(', ')}.`,
    `Download validation.csv of the data set osunlp/TravelPlanner on Hugging Face to ${join(folder, 'validation.csv')},`,
    `and the database that the README of OSU-NLP-Group/TravelPlanner on GitHub links to under "Setup Environment" (Google Drive), unzipped to ${join(folder, 'database')}.`,
  ].join(' ');
}
