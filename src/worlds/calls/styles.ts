import { jsonCalls, readJsonCalls } from './json-calls.ts';
import { exactText, looseText } from './match.ts';
import type { SameText } from './match.ts';
import { apiBankQuestion, bfclQuestion } from './prompts.ts';
import { pythonCalls, readPythonCalls } from './python-calls.ts';
import type { Call, CallsTask } from './task-schema.ts';

/** How a benchmark asks for calls, has them written and compares them. */
export interface Style {
  question(task: CallsTask): { system: string; user: string };
  read(answer: string): Call[] | undefined;
  write(calls: readonly Call[]): string;
  same: SameText;
}

export const styles = {
  bfcl: { question: bfclQuestion, read: readPythonCalls, write: pythonCalls, same: looseText },
  'api-bank': { question: apiBankQuestion, read: readJsonCalls, write: jsonCalls, same: exactText },
} satisfies Record<string, Style>;
