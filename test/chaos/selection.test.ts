import { afterAll, beforeAll, expect, test } from 'vitest';
import { ChaosStack } from './chaos-stack.ts';
import { classes } from './classes/index.ts';
import { disturb } from './drive.ts';

/** One fault of each of the commonest kinds; `npm run test:chaos` has all of them. The seed is fixed, so that a failure repeats. */

const seed = 4;
const selected = classes.filter((fault) => fault.selected === true).map((fault, index) => ({ name: fault.name, index, fault }));

let stack: ChaosStack;
beforeAll(async () => {
  stack = await ChaosStack.start();
}, 480_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

test.each(selected)('$name: it goes on and ends as the run that nobody disturbed', async (planned) => {
  await stack.ready();
  const { problems, duplicates, recovered } = await disturb(stack, planned, seed);
  expect({ problems, duplicates, recovered }).toEqual({ problems: [], duplicates: 0, recovered: true });
}, 600_000);
