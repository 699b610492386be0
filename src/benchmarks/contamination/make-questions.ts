import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bfclQuestions, shippedQuestions } from './benchmark-questions.ts';
import { questionsFile, questionsText, readQuestions } from './find-contamination.ts';
import { questionFingerprints } from './fingerprint.ts';

/**
 * Writes the fingerprints of the benchmarks' questions: `npm run contamination -- <folder>` with the data
 * folder of the package bfcl-eval; without it, BFCL's are kept.
 */
const [bfclFolder] = process.argv.slice(2);
const data = fileURLToPath(new URL('../../../data', import.meta.url));
const shipped = Object.values(shippedQuestions).flatMap((questions) => questionFingerprints(questions(data)));
const bfcl =
  bfclFolder === undefined
    ? readQuestions().filter(({ benchmark }) => benchmark === 'bfcl_v4')
    : questionFingerprints(bfclQuestions(bfclFolder));
writeFileSync(questionsFile, questionsText([...shipped, ...bfcl]));
console.log(`${shipped.length + bfcl.length} questions in ${questionsFile}`);
