import type { Progress } from '../../types/activity-types.ts';
import type { CliContext } from '../context.ts';
import { ProgressLines } from './progress-lines.ts';
import { ProgressScreen } from './progress-screen.ts';

export interface ProgressDisplay {
  /** How often it wants to hear. */
  everyMs: number;
  /** Whether it shows the phase inside an epoch, which takes a query more. */
  detail: boolean;
  show: (progress: Progress) => void;
  end: () => void;
}

/** Live on a terminal, plain lines without one. */
export function progressDisplay({ terminal, print }: CliContext): ProgressDisplay {
  if (terminal !== null) {
    const screen = new ProgressScreen(terminal);
    return { everyMs: 400, detail: true, show: (progress) => screen.show(progress), end: () => screen.end() };
  }
  const lines = new ProgressLines(print);
  return { everyMs: 300, detail: false, show: (progress) => lines.show(progress), end: () => undefined };
}
