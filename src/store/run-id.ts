import { InvalidConfig } from '../contracts/invalid-config.ts';

export const isRunId = (id: string): boolean => /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}$/.test(id);

/** Gives back the id of an experiment. @throws InvalidConfig if it could not be a workflow id and a folder name */
export function checkRunId(id: string): string {
  if (isRunId(id)) return id;
  throw new InvalidConfig(
    `Experiment id ${JSON.stringify(id)} cannot be used: it takes 1 to 80 letters, digits, dots, underscores and hyphens, and no leading dot. Give another id.`,
  );
}
