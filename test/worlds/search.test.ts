import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { createCorpus } from '../../src/worlds/search/corpus.ts';
import { createPassageIndex, matchExpression } from '../../src/worlds/search/passage-index.ts';
import { relationNamed, relations } from '../../src/worlds/search/relations.ts';
import { searchSettings } from '../../src/worlds/search/settings.ts';
import { namesAlong, parseQuestion } from '../../src/worlds/search/task.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';
import { readEbnf } from './ebnf.ts';

const settings = searchSettings.parse({ type: 'search' });
const words = createWorld(settings);
const codes = createWorld({ ...settings, form: 'codes' });
const corpus = createCorpus(settings.seed, settings.entities);
const index = createPassageIndex(corpus);
const heard = (world: typeof words, spec: string, ...actions: string[]) =>
  world.turns!.observe(spec, actions, null).text;
const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

describe('the corpus', () => {
  it('follows from its seed, and is another one for another seed', () => {
    expect(createCorpus(0, 40)).toMatchObject({ names: corpus.names, facts: corpus.facts });
    const elsewhere = createCorpus(1, 40);
    const mainFacts = new Set(corpus.facts.map(({ subject, object }) => `${subject} ${object}`));
    expect(elsewhere.facts.filter(({ subject, object }) => mainFacts.has(`${subject} ${object}`))).toEqual(
      [],
    );
  });

  it('has each relation of each entity once, and no name twice', () => {
    expect(corpus.facts).toHaveLength(40 * relations.length);
    expect(new Set(corpus.facts.map(({ subject, relation }) => subject + relation.word)).size).toBe(480);
    const names = Object.values(corpus.names).flat();
    expect(new Set(names).size).toBe(160);
    const values = ['r', 'l', 't', 'y'] as const;
    const all = [
      ...names,
      ...values.flatMap((type) => corpus.valuesOf(type)),
      ...relations.map(({ word }) => word),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('has no fact that leads from what is trained on to what is held out, or back', () => {
    const isHeldOut = new Map(
      Object.values(corpus.names).flatMap((names) =>
        names.map((name, number): [string, boolean] => [name, number >= corpus.heldOutFrom]),
      ),
    );
    for (const { subject, object } of corpus.facts)
      if (isHeldOut.has(object))
        expect(isHeldOut.get(object), `${subject} ${object}`).toBe(isHeldOut.get(subject));
    expect([...isHeldOut.values()].filter(Boolean)).toHaveLength(32);
  });
});

describe('the index', () => {
  it('finds every fact first by what it is about and its relation, in any order', () => {
    for (const fact of corpus.facts)
      for (const query of [
        `${fact.subject} ${fact.relation.word}`,
        `the ${fact.relation.word} of ${fact.subject}?`,
      ])
        expect(index.search(query, 1), query).toEqual([fact]);
  });

  it('finds what a name is in as well, and no more than it is asked for', () => {
    const { subject, relation, object } = corpus.facts[0]!;
    const about = index.search(object, 50);
    expect(about.every((fact) => [fact.subject, fact.object].includes(object))).toBe(true);
    expect(about).toContainEqual(
      corpus.facts.find((fact) => fact.subject === subject && fact.relation === relation),
    );
    expect(index.search(relation.word, 3)).toHaveLength(3);
    expect(index.search(relation.word, 3)).toEqual(index.search(relation.word, 3));
  });

  // What means something to FTS5 or to SQL, and what is much too long.
  const { subject } = corpus.facts[0]!;
  it.each([
    '"',
    '""',
    "'",
    "';--",
    '*',
    `${subject}*`,
    `${subject.slice(0, 2)}*`,
    'title:',
    `text:${subject}`,
    `{title text}: ${subject}`,
    `^${subject}`,
    `NEAR(${subject} home, 5)`,
    `${subject} AND`,
    `NOT ${subject}`,
    `${subject} OR OR`,
    '(',
    ')',
    `(${subject}`,
    '+',
    '-',
    '\0',
    `${subject}\0home`,
    '"; DROP TABLE passages; --',
    'é ü 漢字 🙂',
    '\ud800',
    'a'.repeat(100_000),
    `${subject} `.repeat(50_000),
    '"'.repeat(100_000),
    Array.from({ length: 20_000 }, (_, word) => `w${word}`).join(' '),
  ])('takes %.30j as words', (query) => {
    expect(() => index.search(query, 5)).not.toThrow();
    expect(index.search(query, 5).length).toBeLessThanOrEqual(5);
    expect(matchExpression(query)).toMatch(/^$|^"[a-z0-9]{1,32}"(?: OR "[a-z0-9]{1,32}"){0,7}$/);
    // The index is as it was.
    expect(index.search(`${subject} author`, 1)).toEqual([corpus.facts[0]]);
  });

  it('gives no operator a meaning', () => {
    expect(index.search(`${subject.slice(0, 2)}*`, 5)).toEqual([]);
    expect(index.search(`NOT ${subject}`, 5)).toEqual(index.search(subject, 5));
    expect(index.search(`text:${subject}`, 5)).toEqual(index.search(`${subject} text`, 5));
  });
});

describe('a question', () => {
  const spec = 'w03ahg';
  const names = (() => {
    const parsed = parseQuestion(spec, settings);
    if ('reason' in parsed) throw new Error(parsed.reason);
    return namesAlong(parsed.question, corpus);
  })();
  const [novel = '', author = '', home = '', mayor = ''] = names;

  it('is a chain of relations whose end the corpus has', () => {
    expect(words.parseTask(spec)).toEqual({ valid: true, spec });
    expect([words.kind(spec), words.difficulty(spec)]).toEqual(['w', 3]);
    expect(novel).toBe(corpus.names.w[3]);
    expect(author).toBe(corpus.objectOf(novel, relationNamed('a')!));
    expect(words.agentPrompt(spec)).toContain(
      `What is the mayor of the home of the author of the novel ${capitalized(novel)}?`,
    );
    expect(codes.agentPrompt(spec)).toBe(`${novel}.author.home.mayor=`);
    expect(codes.referenceAnswer(spec)).toBe(`?${novel} author\n?${author} home\n?${home} mayor\n=${mayor}`);
    expect(words.referenceAnswer(spec).split('\n').at(-1)).toBe(`answer: ${capitalized(mayor)}`);
  });

  it.each([
    ['', 'empty'],
    ['w03', 'unparsable'],
    ['w3a', 'unparsable'],
    ['x03a', 'unparsable'],
    ['w03a ', 'unparsable'],
    [`w03${'a'.repeat(100_000)}`, 'unparsable'],
    ['w99a', 'unknown_entity'],
    ['w40a', 'unknown_entity'],
    ['w03ahgm', 'too_many_hops'],
    ['w03h', 'bad_relation'],
    ['w03ya', 'bad_relation'],
    ['w03z', 'bad_relation'],
    ['w32a', 'held_out_entity'],
    ['w39ah', 'held_out_entity'],
  ])('%.40s is none: %s', (text, reason) => {
    expect(words.parseTask(text)).toEqual({ valid: false, reason });
  });

  it('does not come back to where it was', () => {
    const loop = corpus.names.p.slice(0, corpus.heldOutFrom).flatMap((name, number) => {
      const mentor = corpus.objectOf(name, relationNamed('m')!);
      return corpus.objectOf(mentor, relationNamed('m')!) === name
        ? [`p${String(number).padStart(2, '0')}mm`]
        : [];
    });
    for (const text of loop) expect(words.parseTask(text)).toEqual({ valid: false, reason: 'loop' });
    const seeds = Array.from({ length: 20 }, (_, seed) => createWorld({ ...settings, seed }));
    const reasons = seeds.flatMap((world) =>
      Array.from({ length: 32 }, (_, number) => world.parseTask(`p${String(number).padStart(2, '0')}mm`)),
    );
    expect(reasons).toContainEqual({ valid: false, reason: 'loop' });
  });

  it('is judged by the answer alone, which is exact', () => {
    const answered = (text: string) => words.score(spec, text);
    expect(answered(`answer: ${mayor}`)).toEqual({ reward: 1, wellFormed: true });
    expect(answered(`answer: ${capitalized(mayor)}`)).toEqual({ reward: 1, wellFormed: true });
    expect(answered(`search: anything\nanswer: ${mayor}`)).toEqual({ reward: 1, wellFormed: true });
    // A line break after an action is a space in an answer, which has an action a line.
    expect(answered(`search: x \r\nanswer: ${mayor}  `)).toEqual({ reward: 1, wellFormed: true });
    expect(codes.score(spec, `=${mayor} `)).toEqual({ reward: 1, wellFormed: true });
    expect(answered(` answer: ${mayor}`).reward).toBe(0);
    expect(answered(`I think\nanswer: ${mayor}`)).toEqual({ reward: 1, wellFormed: false });
    for (const text of [
      mayor,
      `answer: ${mayor}.`,
      `answer: ${mayor} or ${home}`,
      `answer:${mayor}`,
      `Answer: ${mayor}`,
      `answer: ${home}`,
      `search: ${mayor}`,
      `answer: ${home}\nanswer: ${mayor}`,
      `answer: ${mayor.repeat(1000)}`,
      '',
      `${'search: x\n'.repeat(settings.turns)}answer: ${mayor}`,
    ])
      expect(answered(text).reward, text.slice(0, 60)).toBe(0);
    expect(answered(`answer: ${mayor}\nsearch: ${mayor}`)).toEqual({ reward: 1, wellFormed: false });
    expect(answered('search: x\n'.repeat(100_000)).reward).toBe(0);
  });

  it('is hardly ever answered by a blind guess', () => {
    const random = randomStream(3);
    const rewards = words
      .heldOutTasks(randomStream(1))
      .flatMap((task) =>
        Array.from({ length: 40 }, (): number => words.score(task, words.randomAnswer(task, random)).reward),
      );
    expect(rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length).toBeLessThan(0.05);
  });

  it('is asked for by its number of hops', () => {
    for (const hops of [1, 2, 3]) expect(words.difficulty(words.taskAt!(hops, randomStream(1)))).toBe(hops);
    expect(words.difficulty(words.taskAt!(9, randomStream(1)))).toBe(3);
  });

  it('that is held out starts at an entity that no training question ever meets', () => {
    const met = (task: string) => {
      const parsed = parseQuestion(task, settings);
      if ('reason' in parsed) throw new Error(parsed.reason);
      // The last may be a value, such as a river, which all share.
      return namesAlong(parsed.question, corpus).slice(0, -1);
    };
    const heldOut = codes.heldOutTasks(randomStream(1));
    expect(heldOut).toHaveLength(4 * 3 * settings.heldOutPerCell);
    const unseen = new Set(heldOut.flatMap(met));
    const simulatorRows = [...codes.warmUpCorpus('environment', 500, randomStream(2))];
    for (const task of [
      ...codes.baseTasks(randomStream(1)),
      ...simulatorRows.map(({ completion }) => completion),
    ])
      for (const name of met(task)) expect(unseen.has(name), task).toBe(false);
    for (const task of heldOut)
      expect(codes.parseTask(task)).toEqual({ valid: false, reason: 'held_out_entity' });
  });
});

describe('what the agent reads', () => {
  const { subject, relation, object } = corpus.facts[0]!;
  const spec = 'w03ah';

  it('is what the index finds', () => {
    const text = heard(words, spec, `search: ${relation.word} of ${subject}`);
    expect(text.split('\n')[1]).toBe(
      `1. The ${relation.word} of ${capitalized(subject)} is ${capitalized(object)}.`,
    );
    expect(text.match(/\d\. /g)).toHaveLength(settings.results);
    expect(heard(codes, spec, `?${subject} ${relation.word}`)).toMatch(
      new RegExp(`^${subject} ${relation.word} ${object};`),
    );
    expect(heard(words, spec, 'search: xyz')).toBe('\nNothing was found.\n');
    expect(heard(codes, spec, '?xyz')).toBe('-;');
  });

  it.each([
    'find kelu',
    'search:kelu',
    'search: ',
    `search: ${'a'.repeat(300)}`,
    `answer: ${'a'.repeat(100)}`,
    '',
    'search',
  ])('after %.40j is that it was no action', (text) => {
    expect(heard(words, spec, text)).toBe('\nThat was neither "search: ..." nor "answer: ...".\n');
    expect(heard(codes, spec, text)).toBe('!;');
  });

  it('needs no wording by the simulator, and ends with the answer or the last turn', () => {
    const rules = words.turns!;
    expect(rules.wordingPrompt(spec, ['search: x'])).toBeNull();
    expect(rules.wordingPrompt(spec, ['search: x', 'answer: y'])).toBeUndefined();
    const searches = Array.from({ length: settings.turns }, () => 'search: x');
    expect(rules.wordingPrompt(spec, searches.slice(1))).toBeNull();
    expect(rules.wordingPrompt(spec, searches)).toBeUndefined();
  });
});

describe('the grammar for servers with structured outputs', () => {
  it('has every question, and no relation that does not fit', () => {
    const ebnf = readEbnf(words.taskGrammar!);
    for (const spec of words.baseTasks(randomStream(4))) expect(ebnf.accepts(spec), spec).toBe(true);
    const random = randomStream(5);
    for (let draw = 0; draw < 2000; draw++) {
      const parsed = words.parseTask(ebnf.draw(random));
      if (!parsed.valid) expect(['unknown_entity', 'held_out_entity', 'loop']).toContain(parsed.reason);
    }
    for (const text of ['w03', 'w03h', 'w03ya', 'w03ahgm', 'x03a']) expect(ebnf.accepts(text)).toBe(false);
  });
});

describe('the agent’s corpus', () => {
  it('is about other corpora, so that none of this one’s facts is known beforehand', () => {
    const facts = new Set(corpus.facts.map((fact) => `${fact.subject} ${fact.relation.word} ${fact.object}`));
    const read = [...codes.warmUpCorpus('agent', 300, randomStream(2))].flatMap(({ more = [] }) =>
      more.flatMap((turn) => turn.read.split(';')),
    );
    expect(read.length).toBeGreaterThan(600);
    expect(read.filter((passage) => facts.has(passage))).toEqual([]);
  });

  it('ends with the right answer where no action is random', () => {
    const exact = createWorld({
      ...settings,
      form: 'codes',
      warmUp: { ...settings.warmUp, actionAccuracy: 1 },
    });
    for (const { prompt, completion, more = [] } of exact.warmUpCorpus('agent', 100, randomStream(2))) {
      const hops = prompt.split('.').length - 1;
      expect(more).toHaveLength(hops);
      expect(completion).toMatch(/^\?/);
      const [, , object] = more.at(-1)!.read.split(';')[0]!.split(' ');
      expect(more.at(-1)!.write).toBe(`=${object!}`);
    }
  });
});

describe('the experiment file', () => {
  const refused = (fields: Record<string, unknown>) => () =>
    parseExperiment(withFields(experimentFile('search'), fields));

  it('is one for models from scratch, which take codes', () => {
    expect(parseExperiment(experimentFile('search')).world).toMatchObject({ type: 'search', form: 'codes' });
    expect(refused({ 'world.form': 'words' })).toThrow(
      'agent.model.type: got "scratch"; the world "search" is in natural language',
    );
    expect(refused({ 'world.turns': 3 })).toThrow(
      'world.turns: got 3; expected at least 4, a search for each relation (maxHops) and the answer',
    );
    expect(refused({ 'world.baseHops': [2, 4] })).toThrow(
      'world.baseHops: got [2, 4]; expected at most maxHops (3)',
    );
    expect(refused({ 'world.turns': 8, 'world.results': 5 })).toThrow(
      /agent\.sampling\.maxTokens: got 14; expected at most/,
    );
  });
});
