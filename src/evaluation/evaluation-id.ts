/** Evaluations of a run's own agent on benchmarks: after which epochs, and under which id. */
import { epochId } from '../formats/epoch-id.ts';

/**
 * Id of the evaluation of a run's agent after an epoch, by the hash of the epoch's ledger line: an epoch that
 * is repeated after a rewind has another.
 */
export const evaluationOfEpoch = (run: string, epoch: number, line: string): string =>
  `${idsOfEpoch(run, epoch)}${line.slice(0, 8)}`;

/** Whether an evaluation is one that the run itself started after an epoch: the run does not train meanwhile. */
export const isEvaluationOfEpoch = (id: string, { run, epoch }: { run: string; epoch: number }): boolean =>
  id.startsWith(idsOfEpoch(run, epoch));

const idsOfEpoch = (run: string, epoch: number): string => `${run}.${epochId(epoch)}-`;

/**
 * Whether the agent is evaluated after this epoch: after every `every`-th and the last, and after the preparation,
 * epoch 0, if the settings ask for the initial agent.
 */
export const isEvaluationDue = (
  epoch: number,
  { every, initial = false }: { every: number; initial?: boolean | undefined },
  epochs: number,
): boolean => (epoch === 0 ? initial : epoch % every === 0 || epoch >= epochs);
