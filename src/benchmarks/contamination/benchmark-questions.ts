import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { queryText } from '../travelplanner/query-text.ts';
import type { TravelQuery } from '../travelplanner/query-text.ts';
import { splitWords } from './fingerprint.ts';
import type { BenchmarkQuestion } from './fingerprint.ts';

/** Shorter utterances occur in any dialogue ("Can you help me delete my account?"). */
const MIN_UTTERANCE_WORDS = 10;
/** ToolRL's own last line of every dialogue. */
const closingRequest = 'Based on our conversation above, please only make one tool call to solve my need.';

/**
 * Questions of the data that comes with the project, from its folder, benchmark by benchmark. ALFWorld has
 * none: its goals ("put a mug in the sink") are a few words, which any household task may share, and its
 * games are kept apart instead.
 */
export const shippedQuestions: Readonly<Record<string, (data: string) => BenchmarkQuestion[]>> = {
  api_bank: (data) => apiBank(join(data, 'api-bank')),
  bamboogle: (data) => bamboogle(join(data, 'bamboogle', 'bamboogle.json')),
  travelplanner: (data) => travelPlanner(join(data, 'travelplanner', 'train_queries.jsonl')),
};

/** Whole dialogues, and the user's distinctive utterances in them. */
function apiBank(folder: string): BenchmarkQuestion[] {
  const read = <Row>(file: string): Row[] => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Row[];
  const toolRl = [1, 2, 3].flatMap((level) =>
    read<{ user: string }>(`level-${level}-api_processed.json`).map(({ user }, index) => {
      const dialogue = user
        .replace(/^\**Dialogue Records History\**\n/, '')
        .replace(`<user> ${closingRequest}</user>`, '');
      return {
        id: `Level${level}_${index}`,
        dialogue,
        said: [...dialogue.matchAll(/<user>([^]*?)<\/user>/g)].map(([, text]) => text!),
      };
    }),
  );
  const damo = [1, 2].flatMap((level) =>
    read<{ file: string; id: number; input: string }>(`damo-level-${level}-api.json`).map(
      ({ file, id, input }) => {
        const dialogue = input.replace(/Generate API Request:\n$/, '');
        return {
          id: `${file}#${id}`,
          dialogue,
          said: [...dialogue.matchAll(/^User: (.*)$/gm)].map(([, text]) => text!),
        };
      },
    ),
  );
  return [...toolRl, ...damo].flatMap(({ id, dialogue, said }) =>
    [...said.filter((text) => splitWords(text).length >= MIN_UTTERANCE_WORDS), dialogue].map((text) => ({
      benchmark: 'api_bank',
      id,
      text,
    })),
  );
}

const bamboogle = (file: string): BenchmarkQuestion[] =>
  (JSON.parse(readFileSync(file, 'utf8')) as { Question: string }[]).map(({ Question }, index) => ({
    benchmark: 'bamboogle',
    id: `bamboogle_${index}`,
    text: Question,
  }));

/** In the benchmark's words and in the words of the world Travel. */
const travelPlanner = (file: string): BenchmarkQuestion[] =>
  readLines(file).flatMap((line, index) => {
    const row = JSON.parse(line) as TravelQuery & { query: string };
    return [row.query, queryText(row)].map((text) => ({
      benchmark: 'travelplanner',
      id: `train_${index + 1}`,
      text,
    }));
  });

/** What users say in BFCL's questions, from the data folder of its package. */
export function bfclQuestions(folder: string): BenchmarkQuestion[] {
  const files = readdirSync(folder)
    .filter((name) => /^BFCL_v4_.*\.json$/.test(name) && !name.includes('format_sensitivity'))
    .sort();
  return files.flatMap((name) =>
    readLines(join(folder, name)).flatMap((line) => {
      const { id, question } = JSON.parse(line) as {
        id: string;
        question: { role: string; content: string }[][];
      };
      return question
        .flat()
        .filter(({ role }) => role === 'user')
        .map(({ content }) => ({ benchmark: 'bfcl_v4', id, text: content }));
    }),
  );
}

const readLines = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
