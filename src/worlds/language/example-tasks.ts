import type { LanguageTask } from './task-schema.ts';

/** One task of each kind, which show the simulator the form. */
export const exampleTasks: readonly LanguageTask[] = [
  {
    prompt: 'A crate holds a dozen jars and three loose ones. How many jars do two such crates hold?',
    tools: ['add', 'multiply'],
    evaluation: {
      kind: 'execution',
      program: { tool: 'multiply', arguments: { a: { tool: 'add', arguments: { a: 12, b: 3 } }, b: 2 } },
    },
  },
  {
    prompt: 'Book a table for four at Luigi’s tonight.',
    tools: [
      {
        name: 'book_table',
        description: 'Reserves a table.',
        parameters: { restaurant: 'string', guests: 'integer' },
      },
      { name: 'cancel_table', description: 'Gives a reservation up.', parameters: { restaurant: 'string' } },
    ],
    evaluation: { kind: 'call' },
    target_action: { name: 'book_table', arguments: { restaurant: 'Luigi’s', guests: 4 } },
  },
  {
    prompt: 'Which planet is nearest to the Sun?',
    tools: [],
    evaluation: { kind: 'exact', answers: ['Mercury'] },
  },
  {
    prompt: 'Why does ice float on water?',
    tools: [],
    evaluation: { kind: 'reference', answer: 'Ice is less dense than liquid water.' },
  },
];
