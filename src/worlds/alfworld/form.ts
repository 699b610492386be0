import type { HistoryDigits } from '../history-digits.ts';
import type { HouseAction, HouseOutcome, Room } from './room.ts';
import type { HouseTask } from './task.ts';

/** How the agent and the simulator read and write: the same facts in ALFWorld's words, or in short codes. */
export interface HouseForm {
  agentPrompt(task: HouseTask): string;
  /** The command in an answer: nothing before, nothing after; in words there may be space after it. */
  parseAction(text: string): HouseAction | undefined;
  printAction(action: HouseAction): string;
  /** What the agent reads after its last action, up to where it writes again. */
  observation(room: Room, outcome: HouseOutcome): string;
  simulatorPrompt(history: HistoryDigits, seedTask: string): string;
}
