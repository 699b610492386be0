import { z } from 'zod';
import { alfworldProblems, alfworldSettings, alfworldTexts } from './alfworld/settings.ts';
import { callsProblems, callsSettings } from './calls/settings.ts';
import { chainOpsProblems, chainOpsSettings, chainOpsTexts } from './chainops/settings.ts';
import { externalSettings } from './external/settings.ts';
import { languageProblems, languageSettings } from './language/settings.ts';
import { miniDeskProblems, miniDeskSettings, miniDeskTexts } from './minidesk/settings.ts';
import { programsProblems, programsSettings } from './programs/settings.ts';
import { searchProblems, searchSettings, searchTexts } from './search/settings.ts';
import type { TextLimits } from './setting-fields.ts';
import { toolboxProblems, toolboxSettings, toolboxTexts } from './toolbox/settings.ts';
import { servicesProblems, servicesSettings } from './services/settings.ts';
import { travelProblems, travelSettings } from './travel/settings.ts';

/** The worlds that an experiment file can name, from the settings in their folders. */
export const worldSettings = z
  .discriminatedUnion('type', [
    toolboxSettings,
    chainOpsSettings,
    miniDeskSettings,
    languageSettings,
    callsSettings,
    travelSettings,
    programsSettings,
    servicesSettings,
    alfworldSettings,
    searchSettings,
    externalSettings,
  ])
  .describe('The family of tasks.');

export type WorldSettings = z.infer<typeof worldSettings>;

/** Fields that are valid alone and not together: `world.<field>: got <value>; <what is allowed>`. */
export function worldProblems(settings: WorldSettings): Iterable<string> {
  switch (settings.type) {
    case 'toolbox':
      return toolboxProblems(settings);
    case 'chainops':
      return chainOpsProblems(settings);
    case 'minidesk':
      return miniDeskProblems(settings);
    case 'language':
      return languageProblems(settings);
    case 'calls':
      return callsProblems(settings);
    case 'travel':
      return travelProblems(settings);
    case 'programs':
      return programsProblems(settings);
    case 'services':
      return servicesProblems(settings);
    case 'alfworld':
      return alfworldProblems(settings);
    case 'search':
      return searchProblems(settings);
    default:
      return [];
  }
}

/** The maximum text lengths of a world; undefined if only the world itself knows them. */
export function textLimits(settings: WorldSettings): TextLimits | undefined {
  switch (settings.type) {
    case 'toolbox':
      return toolboxTexts(settings);
    case 'chainops':
      return chainOpsTexts(settings);
    case 'minidesk':
      return miniDeskTexts(settings);
    case 'alfworld':
      return alfworldTexts(settings);
    case 'search':
      return searchTexts(settings);
    default:
      return undefined;
  }
}

/** Worlds whose tasks are JSON objects, in natural language. */
const jsonTaskWorlds: readonly string[] = ['language', 'calls', 'travel', 'services'];

/**
 * Whether a world writes a corpus that a model can be warmed up on. Worlds whose tasks are JSON have right answers for
 * the agent, and nothing for the simulator.
 */
export const hasWarmUpCorpus = ({ type }: WorldSettings, role: 'agent' | 'environment'): boolean =>
  role === 'agent' ? type !== 'language' : !jsonTaskWorlds.includes(type);

/** Whether a rollout takes several turns, whose tokens the server must give. */
export const hasSeveralTurns = ({ type }: WorldSettings): boolean =>
  ['minidesk', 'alfworld', 'search', 'services'].includes(type);

/**
 * Whether a model from scratch can learn a world's texts from its corpus: natural language takes a model that
 * knows it.
 */
export const fitsModelsFromScratch = (settings: WorldSettings): boolean =>
  settings.type === 'alfworld' || settings.type === 'search'
    ? settings.form === 'codes'
    : ![...jsonTaskWorlds, 'programs'].includes(settings.type);
