/** What a household has: receptacles, objects, and what can be done to them. Codes are those of task texts. */

export interface ReceptacleType {
  code: string;
  name: string;
  /** It is closed at first, and must be opened to see into it, to take from it and to put into it. */
  isOpenable: boolean;
}

/** Something done to an object that is held, at a receptacle of one type. */
export interface Treatment {
  verb: 'clean' | 'heat' | 'cool';
  adjective: 'clean' | 'hot' | 'cool';
  /** Code of the receptacle that does it. */
  tool: string;
}

export interface ObjectType {
  code: string;
  name: string;
  /** Verbs of the treatments that it takes. */
  treatments: readonly Treatment['verb'][];
}

const receptacle = (code: string, name: string, isOpenable = false): ReceptacleType => ({
  code,
  name,
  isOpenable,
});

export const receptacleTypes: readonly ReceptacleType[] = [
  receptacle('C', 'cabinet', true),
  receptacle('D', 'drawer', true),
  receptacle('F', 'fridge', true),
  receptacle('M', 'microwave', true),
  receptacle('S', 'sinkbasin'),
  receptacle('T', 'countertop'),
  receptacle('K', 'desk'),
  receptacle('H', 'shelf'),
];

export const treatments: readonly Treatment[] = [
  { verb: 'clean', adjective: 'clean', tool: 'S' },
  { verb: 'heat', adjective: 'hot', tool: 'M' },
  { verb: 'cool', adjective: 'cool', tool: 'F' },
];

/** Treatments as in ALFRED, whose tables ALFWorld's games follow. */
export const objectTypes: readonly ObjectType[] = [
  { code: 'a', name: 'apple', treatments: ['clean', 'heat', 'cool'] },
  { code: 'b', name: 'bowl', treatments: ['clean', 'cool'] },
  { code: 'c', name: 'cup', treatments: ['clean', 'heat', 'cool'] },
  { code: 'e', name: 'egg', treatments: ['clean', 'heat', 'cool'] },
  { code: 'f', name: 'fork', treatments: ['clean'] },
  { code: 'm', name: 'mug', treatments: ['clean', 'heat', 'cool'] },
  { code: 'n', name: 'pencil', treatments: [] },
  { code: 'o', name: 'book', treatments: [] },
  { code: 'p', name: 'plate', treatments: ['clean', 'heat', 'cool'] },
  { code: 't', name: 'tomato', treatments: ['clean', 'heat', 'cool'] },
];

/** The only object that stays where it is: it is switched on. */
export const lamp = { code: 'l', name: 'desklamp' };

/** The six families of ALFWorld's tasks. */
export const goalKinds = ['p', 'c', 'h', 'k', 'l', 'd'] as const;
export type GoalKind = (typeof goalKinds)[number];

/** Treatments by the kind of goal that asks for them. */
const treatmentByKind: Partial<Record<GoalKind, Treatment>> = {
  c: treatments[0]!,
  h: treatments[1]!,
  k: treatments[2]!,
};
export const treatmentOf = (kind: GoalKind): Treatment | undefined => treatmentByKind[kind];

export const receptacleNamed = (code: string): ReceptacleType | undefined =>
  receptacleTypes.find((type) => type.code === code);
export const objectNamed = (code: string): ObjectType | undefined =>
  objectTypes.find((type) => type.code === code);

/** `mug 1` of `m1`, `cabinet 2` of `C2`. */
export function spokenName(id: string): string {
  const code = id.charAt(0);
  const name =
    code === lamp.code ? lamp.name : (objectNamed(code)?.name ?? receptacleNamed(code)?.name ?? code);
  return `${name} ${id.slice(1)}`;
}
