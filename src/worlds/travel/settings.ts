import { z } from 'zod';
import {
  bandField,
  bandProblems,
  formatField,
  repairsField,
  simulatorFormatField,
  tasksFileField,
} from '../json-tasks/settings.ts';

export const travelSettings = z
  .strictObject({
    type: z.literal('travel'),
    format: formatField,
    simulatorFormat: simulatorFormatField,
    band: bandField,
    repairs: repairsField,
    tasksFile: tasksFileField.describe('The tasks that the simulator varies, and those held out.'),
  })
  .describe('Travel plans as TravelPlanner has them, from tasks of your own.');

export type TravelSettings = z.infer<typeof travelSettings>;

export const travelProblems = (settings: TravelSettings): Generator<string> => bandProblems(settings);
