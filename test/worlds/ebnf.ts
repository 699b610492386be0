import type { RandomStream } from '../../src/numerics/random.ts';

/** The part of xgrammar's EBNF that grammars of this project use, to draw texts from one and to match them. */
type Node =
  | { text: string }
  | { characters: string }
  | { name: string }
  | { sequence: Node[] }
  | { alternatives: Node[] }
  | { repeated: Node; from: number; to: number };

export interface Ebnf {
  draw(random: RandomStream): string;
  accepts(text: string): boolean;
}

const tokenPattern = /\s*("(?:[^"\\]|\\.)*"|\[[^\]]+\]|[()|]|\{\d+,\d+\}|\w+)/y;

function readRule(expression: string): Node {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < expression.length) {
    const match = tokenPattern.exec(expression);
    if (match === null) throw new Error(`no rule: ${expression}`);
    tokens.push(match[1]!);
  }
  let at = 0;
  const readAlternatives = (): Node => {
    const alternatives = [readSequence()];
    while (tokens[at] === '|') {
      at += 1;
      alternatives.push(readSequence());
    }
    return { alternatives };
  };
  const readSequence = (): Node => {
    const sequence: Node[] = [];
    while (at < tokens.length && tokens[at] !== '|' && tokens[at] !== ')') sequence.push(readItem());
    return { sequence };
  };
  const readItem = (): Node => {
    const token = tokens[at++]!;
    let node: Node;
    if (token === '(') {
      node = readAlternatives();
      if (tokens[at++] !== ')') throw new Error(`a bracket is open: ${expression}`);
    } else if (token.startsWith('"')) node = { text: JSON.parse(token) as string };
    else if (token.startsWith('[')) node = { characters: expandClass(token.slice(1, -1)) };
    else node = { name: token };
    const [, from, to] = /^\{(\d+),(\d+)\}$/.exec(tokens[at] ?? '') ?? [];
    if (from === undefined) return node;
    at += 1;
    return { repeated: node, from: Number(from), to: Number(to) };
  };
  const node = readAlternatives();
  if (at !== tokens.length) throw new Error(`${tokens[at]!} is unexpected: ${expression}`);
  return node;
}

const expandClass = (text: string): string =>
  text.replace(/(.)-(.)/g, (_, from: string, to: string) =>
    Array.from({ length: to.charCodeAt(0) - from.charCodeAt(0) + 1 }, (_, index) =>
      String.fromCharCode(from.charCodeAt(0) + index),
    ).join(''),
  );

export function readEbnf(grammar: string): Ebnf {
  const rules = new Map(
    grammar.split('\n').map((line): [string, Node] => {
      const [, name = '', expression = ''] = /^(\w+) ::= (.+)$/.exec(line) ?? [];
      return [name, readRule(expression)];
    }),
  );
  const ruleOf = (name: string): Node => {
    const rule = rules.get(name);
    if (rule === undefined) throw new Error(`there is no rule ${name}`);
    return rule;
  };
  const draw = (node: Node, random: RandomStream): string => {
    if ('text' in node) return node.text;
    if ('characters' in node) return random.pick([...node.characters]);
    if ('name' in node) return draw(ruleOf(node.name), random);
    if ('sequence' in node) return node.sequence.map((part) => draw(part, random)).join('');
    if ('alternatives' in node) return draw(random.pick(node.alternatives), random);
    const count = node.from + random.int(node.to - node.from + 1);
    return Array.from({ length: count }, () => draw(node.repeated, random)).join('');
  };
  const accepts = (text: string): boolean => {
    const memo = new Map<string, Set<number>>();
    const fromAll = (starts: Iterable<number>, node: Node): Set<number> =>
      new Set([...starts].flatMap((start) => [...ends(node, start)]));
    const ends = (node: Node, at: number): Set<number> => {
      if ('text' in node) return new Set(text.startsWith(node.text, at) ? [at + node.text.length] : []);
      if ('characters' in node)
        return new Set(at < text.length && node.characters.includes(text[at]!) ? [at + 1] : []);
      if ('sequence' in node)
        return node.sequence.reduce((reached, part) => fromAll(reached, part), new Set([at]));
      if ('alternatives' in node) return new Set(node.alternatives.flatMap((part) => [...ends(part, at)]));
      if ('repeated' in node) {
        const reached = new Set<number>(node.from === 0 ? [at] : []);
        let last = new Set([at]);
        for (let count = 1; count <= node.to; count++) {
          last = fromAll(last, node.repeated);
          if (count >= node.from) for (const end of last) reached.add(end);
        }
        return reached;
      }
      const key = `${node.name}@${at}`;
      const earlier = memo.get(key) ?? ends(ruleOf(node.name), at);
      memo.set(key, earlier);
      return earlier;
    };
    return ends({ name: 'root' }, 0).has(text.length);
  };
  return { draw: (random) => draw({ name: 'root' }, random), accepts };
}
