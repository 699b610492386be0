import { historyCharacters, historyDigits } from '../history-digits.ts';
import { readActions, renderActions, writeActions } from '../turn-actions.ts';
import type { TaskSpec, World } from '../world.ts';
import { createCorpus } from './corpus.ts';
import { drawQuestion } from './draw-question.ts';
import { codesForm, createWordsForm, questionKinds, wordsCharacters } from './form.ts';
import { createPassageIndex } from './passage-index.ts';
import { playSearch } from './rollout.ts';
import type { SearchSettings } from './settings.ts';
import {
  findFlaw,
  isHeldOutQuestion,
  namesAlong,
  parseQuestion,
  questionGrammar,
  questionSpec,
} from './task.ts';
import type { Question } from './task.ts';
import { referenceActions, searchAgentCorpus, searchSimulatorCorpus } from './warm-up.ts';

/**
 * Search: the simulator writes a chain of relations, code asks for its end, and the agent searches an invented
 * corpus through a full-text index until it can answer. The corpus and so every answer follow from a seed.
 */
export function createSearch(settings: SearchSettings): World {
  const { turns, maxHops } = settings;
  const form = settings.form === 'words' ? createWordsForm(settings.format) : codesForm;
  const corpus = createCorpus(settings.seed, settings.entities);
  const index = createPassageIndex(corpus);
  const questionOf = (spec: TaskSpec): Question => {
    const parsed = parseQuestion(spec, settings);
    if ('reason' in parsed)
      throw new RangeError(`${JSON.stringify(spec.slice(0, 80))} is no task of this world: ${parsed.reason}`);
    return parsed.question;
  };
  const goldOf = (spec: TaskSpec): string => namesAlong(questionOf(spec), corpus).at(-1)!;
  const cells = questionKinds.flatMap((start) =>
    Array.from({ length: maxHops }, (_, hop) => ({ start, hops: hop + 1 })),
  );
  return {
    name: 'search',
    vocabulary: settings.form === 'words' ? wordsCharacters : codesCharacters,
    taskGrammar: questionGrammar(settings),
    baseTasks: (random) => {
      const [from, to] = settings.baseHops;
      return drawDistinct(settings.baseTasks, () =>
        drawQuestion(random, corpus, { hops: from + random.int(to - from + 1) }),
      );
    },
    heldOutTasks: (random) =>
      cells.flatMap((cell) =>
        drawDistinct(settings.heldOutPerCell, () =>
          drawQuestion(random, corpus, { ...cell, isHeldOut: true }),
        ),
      ),
    uniformTask: (random) => questionSpec(drawQuestion(random, corpus, random.pick(cells))),
    taskAt: (difficulty, random) => {
      const hops = Math.max(1, Math.min(maxHops, Math.round(difficulty)));
      return questionSpec(drawQuestion(random, corpus, { hops }));
    },
    environmentPrompt: (history, seedTask) =>
      form.simulatorPrompt(historyDigits(history, questionKinds), seedTask),
    parseTask: (text) => {
      const parsed = parseQuestion(text, settings);
      if ('reason' in parsed) return { valid: false, reason: parsed.reason };
      const { question } = parsed;
      const reason = isHeldOutQuestion(question, corpus) ? 'held_out_entity' : findFlaw(question, corpus);
      return reason === undefined ? { valid: true, spec: text } : { valid: false, reason };
    },
    agentPrompt: (spec) => form.agentPrompt(questionOf(spec), corpus),
    kind: (spec) => questionOf(spec).start.type,
    difficulty: (spec) => questionOf(spec).chain.length,
    difficultyUnit: 'hops',
    latents: (spec) => {
      const question = questionOf(spec);
      return {
        part: isHeldOutQuestion(question, corpus) ? 'unseen_entity' : 'usual',
        start: question.start.type,
        answer: question.chain.at(-1)!.to,
        hops: question.chain.length,
      };
    },
    score: (spec, answer) => {
      const texts = answer.split('\n');
      const played = playSearch(index, readActions(form, texts.slice(0, turns)), settings);
      const wellFormed =
        texts.length === played.results.length &&
        readActions(form, texts).every((action) => action !== undefined);
      return { reward: played.answer === goldOf(spec) ? 1 : 0, wellFormed };
    },
    referenceAnswer: (spec) => writeActions(form, referenceActions(questionOf(spec), corpus)),
    randomAnswer: (spec, random) => {
      const { to } = questionOf(spec).chain.at(-1)!;
      return form.printAction({ kind: 'answer', text: random.pick(corpus.valuesOf(to)) });
    },
    renderTask: (spec) => {
      const question = questionOf(spec);
      return { question: form.agentPrompt(question, corpus), chain: namesAlong(question, corpus) };
    },
    renderAnswer: renderActions(form, turns),
    warmUpCorpus: (policy, rows, random) =>
      (policy === 'agent' ? searchAgentCorpus : searchSimulatorCorpus)(form, settings, rows, random),
    turns: {
      limit: turns,
      wordingPrompt: (_, texts) =>
        playSearch(index, readActions(form, texts), settings).over ? undefined : null,
      observe: (_, texts) => {
        const last = readActions(form, texts.slice(-1));
        return { text: form.observation(playSearch(index, last, settings).results[0]), consistent: true };
      },
    },
  };
}

/** This many different questions; fewer if the draws hardly give another one. */
function drawDistinct(count: number, draw: () => Question): TaskSpec[] {
  const specs = new Set<TaskSpec>();
  for (let attempt = 0; specs.size < count && attempt < 20 * count; attempt++)
    specs.add(questionSpec(draw()));
  return [...specs];
}

const codesCharacters = [...new Set([...historyCharacters, ...' .;?!-'])].sort();
