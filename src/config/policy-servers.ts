/** Which server answers for which policy: the simulator may have one of its own. */
import type { FrozenServer } from '../validation/frozen-server.ts';
import type { Experiment } from './experiment.ts';
import { frozenServing } from './serving.ts';
import type { ServingSettings } from './serving.ts';

type Role = 'agent' | 'environment';
type Servers = Pick<Experiment, 'serving' | 'environment'>;

/** Where a policy is reached. */
export const servingOf = ({ serving, environment }: Servers, role: Role): ServingSettings =>
  role === 'environment' && environment.serving !== undefined ? frozenServing(environment.serving) : serving;

/** The name of a policy whose weights are its server's own; null if the run has the weights. */
export function servedName({ serving, environment }: Servers, role: Role): string | null {
  if (role === 'environment' && environment.serving !== undefined) return environment.serving.model;
  return serving.type === 'openai' && serving.publish === 'none' ? (serving.models?.[role] ?? null) : null;
}

/** The roles whose policies `serving` answers for. */
export const servedRoles = ({ environment }: Pick<Experiment, 'environment'>): Role[] =>
  environment.serving === undefined ? ['agent', 'environment'] : ['agent'];

/** What a server apart from `serving` does for a run. */
export const serverUses = ['simulator', 'solver', 'wording', 'similarity'] as const;
export type ServerUse = (typeof serverUses)[number];

/** A server that a run asks besides `serving`, with the field that names it. */
export interface ServerApart {
  use: ServerUse;
  field: string;
  server: FrozenServer;
}

export function serversApart({
  environment,
  world,
}: Pick<Experiment, 'environment' | 'world'>): ServerApart[] {
  const solver = 'vote' in world ? world.vote?.solver : undefined;
  const wording = 'wording' in world ? world.wording?.server : undefined;
  const similarity = 'similarity' in world ? world.similarity : undefined;
  return [
    ...(environment.serving === undefined
      ? []
      : [{ use: 'simulator', field: 'environment.serving', server: environment.serving } as const]),
    ...(wording === undefined
      ? []
      : [{ use: 'wording', field: 'world.wording.server', server: wording } as const]),
    ...(solver === undefined ? [] : [{ use: 'solver', field: 'world.vote.solver', server: solver } as const]),
    ...(similarity === undefined
      ? []
      : [{ use: 'similarity', field: 'world.similarity', server: similarity } as const]),
  ];
}
