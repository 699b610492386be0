import type { Contamination } from './contaminated.ts';

/** For people: what is wrong with a text that holds a benchmark's question, and what to do about it. */
export const contaminationFault = ({ benchmark, id }: Contamination): string =>
  `it holds the question ${id} of the benchmark ${benchmark}, which says nothing of a policy that was trained on it: leave it out`;
