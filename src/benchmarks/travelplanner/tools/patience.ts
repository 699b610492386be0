import { isTool } from './desk.ts';

/** When the official agent gives an attempt up. */
export const limits = { steps: 30, failuresOfATool: 3, sameActions: 3 } as const;

/**
 * Counts what makes the official agent give up: a tool that failed three times since any worked, and the same
 * action three times in a row.
 */
export class Patience {
  readonly #failures = new Map<string, number>();
  #last = '';
  #same = 0;

  /** To be asked before an action is taken. Why the attempt ends there; null where it goes on. */
  endsAt(tool: string, action: string): string | null {
    this.#same = action === this.#last ? this.#same + 1 : 1;
    this.#last = action;
    if (this.#same === limits.sameActions) return 'the same action three times in a row';
    return (this.#failures.get(kindOf(tool)) ?? 0) >= limits.failuresOfATool
      ? `${kindOf(tool)} failed three times`
      : null;
  }

  /** To be told what came of it. */
  saw(tool: string, failed: boolean): void {
    if (failed) this.#failures.set(kindOf(tool), (this.#failures.get(kindOf(tool)) ?? 0) + 1);
    else this.#failures.clear();
  }
}

/** All that is no tool counts as one. */
const kindOf = (tool: string): string => (isTool(tool) ? tool : 'an invalid action');
