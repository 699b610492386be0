/**
 * Checks what a workflow is started with, signalled and updated, before any of its code sees it: who may write
 * to the namespace may send anything.
 */
import { ApplicationFailure, log, workflowInfo } from '@temporalio/workflow';
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { messageShapes, workflowShapes } from './input-shapes.ts';
import type { Shape } from './shapes.ts';

const MAX_PROBLEMS = 5;

/** Nothing of the arguments is quoted. @throws ApplicationFailure that fails the workflow, or refuses the update */
function requireShapes(what: string, shapes: readonly Shape[] | undefined, args: readonly unknown[]): void {
  const problems = [...problemsOf(shapes, args)];
  if (problems.length > 0)
    throw ApplicationFailure.nonRetryable(
      `${what}: its input is not one of this project: ${problems.slice(0, MAX_PROBLEMS).join('; ')}`,
      'InvalidInput',
    );
}

function* problemsOf(shapes: readonly Shape[] | undefined, args: readonly unknown[]): Generator<string> {
  if (shapes === undefined) {
    yield 'there is none of this name';
    return;
  }
  // The CLI of Temporal sends null if no input is given.
  const sent = args.length === 1 && args[0] === null && shapes.length === 0 ? [] : args;
  if (sent.length > shapes.length) yield `expected at most ${shapes.length} arguments`;
  for (const [index, shape] of shapes.entries()) yield* shape(sent[index], `argument ${index + 1}`);
}

const shapesOf = (
  table: Readonly<Record<string, readonly Shape[]>>,
  name: string,
): readonly Shape[] | undefined => (Object.hasOwn(table, name) ? table[name] : undefined);

export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      // A rejection fails the workflow; what is thrown at once would fail its task, which is tried for ever.
      async execute(input, next) {
        const { workflowType } = workflowInfo();
        requireShapes(`workflow ${workflowType}`, shapesOf(workflowShapes, workflowType), input.args);
        return next(input);
      },
      async handleSignal(input, next) {
        const problems = [...problemsOf(shapesOf(messageShapes, input.signalName), input.args)];
        // A signal has nobody to answer to: it is dropped, and the run continues.
        if (problems.length > 0) log.warn(`a signal was dropped: ${problems[0]}`);
        else await next(input);
      },
      validateUpdate(input, next) {
        requireShapes(`update ${input.name.slice(0, 100)}`, shapesOf(messageShapes, input.name), input.args);
        next(input);
      },
    },
  ],
});
