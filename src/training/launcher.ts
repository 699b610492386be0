/** Starts the process of a training job; a local one first, schedulers behind the same interface later. */
export interface Launcher {
  /** Starts the job of a work folder and returns once it is under way; a job that is under way already makes this one end at once. */
  launch(folder: string): Promise<void>;
}

/** The trainer could not be started now; it may be later. */
export class TrainerUnavailable extends Error {
  override readonly name = 'TrainerUnavailable';
}
