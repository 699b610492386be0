import type { ServiceName } from './stack-record.ts';

export interface Launch {
  command: string;
  args: string[];
  env: Record<string, string | undefined>;
}

/** One process of the stack: how it is launched, when it is ready, how long it may take to end. */
export interface Service {
  name: ServiceName;
  /** What people read. */
  title: string;
  fingerprint(): string;
  /** Called before every start: a restart uses the port that others were told of. */
  launch(): Promise<Launch> | Launch;
  /** Whether it answers now. Rejects, or gives false, while it does not. */
  answers(): Promise<boolean>;
  /** Once after it first answered, started or adopted. */
  prepare?(): Promise<void>;
  /** Ports in use, to be used again by the next stack of this home. */
  ports?(): Record<string, number>;
  readySeconds: number;
  graceSeconds: number;
}
