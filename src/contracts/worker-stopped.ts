/** Type of the failure that an activity reports when its worker was told to stop: nothing went wrong, and no attempt was used up. */
export type WorkerStopped = 'WorkerStopped';
