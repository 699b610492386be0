import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { choosePort } from '../ports.ts';
import type { Launch } from '../processes.ts';
import { serviceFingerprint } from '../record.ts';
import type { StackAddresses, StackTokens } from '../record.ts';
import type { Service } from '../supervised-service.ts';

export interface WorkerProcessSettings {
  node: string;
  repository: string;
  home: string;
  python: string;
  /** File with a profile of this stack, so that the user's own profiles are not read. */
  profile: string;
  env: Record<string, string | undefined>;
  tokens: StackTokens;
  /** Known when the servers are up. */
  addresses: () => StackAddresses;
}

/** Each takes some hundred megabytes. */
const MAX_TRAINING_JOBS = 4;

/** The worker of all queues. It is the last to start and the first to end. */
export class WorkerProcess implements Service {
  readonly name = 'worker';
  readonly title = 'Worker';
  readonly readySeconds = 120;
  /** It abandons activities at once, but a training job may have to write its checkpoint first. */
  readonly graceSeconds = 60;
  readonly #settings: WorkerProcessSettings;
  #healthPort: number;

  constructor(settings: WorkerProcessSettings, ports: Record<string, number>) {
    this.#settings = settings;
    this.#healthPort = ports.workerHealth ?? 0;
  }

  ports(): Record<string, number> {
    return { workerHealth: this.#healthPort };
  }

  fingerprint(): string {
    const { node, repository, env } = this.#settings;
    return serviceFingerprint([node, this.#contract(), settingsIn(env)], [join(repository, 'src')]);
  }

  async launch(): Promise<Launch> {
    const { node, repository, env } = this.#settings;
    this.#healthPort = await choosePort([this.#healthPort]);
    const settings = { ...this.#contract(), GENENV_HEALTH_PORT: String(this.#healthPort) };
    return {
      command: node,
      args: [join(repository, 'src/worker.ts')],
      env: {
        GENENV_TRAINING_JOBS: String(Math.min(availableParallelism(), MAX_TRAINING_JOBS)),
        ...env,
        ...settings,
      },
    };
  }

  async answers(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.#healthPort}/health`, {
      signal: AbortSignal.timeout(2_000),
    });
    return response.ok;
  }

  /** The environment variables that src/worker.ts reads. */
  #contract(): Record<string, string> {
    const { home, python, profile, tokens, addresses } = this.#settings;
    const { temporal, namespace, policyServer, trainerSocket, vllm } = addresses();
    return {
      TEMPORAL_ADDRESS: temporal,
      TEMPORAL_NAMESPACE: namespace,
      TEMPORAL_CONFIG_FILE: profile,
      GENENV_HOME: home,
      ...(policyServer !== null && {
        GENENV_POLICY_SERVER: policyServer,
        GENENV_POLICY_TOKEN: tokens.policyServer,
      }),
      ...(vllm !== null && { GENENV_VLLM_SERVER: vllm.url, GENENV_VLLM_TOKEN: tokens.vllm }),
      GENENV_TRAINER_SOCKET: trainerSocket,
      GENENV_PYTHON: python,
    };
  }
}

/** What terminals, npm and systemd set anew for each window or command, and the path, which they change. */
const VOLATILE = [
  /^(_|NODE|EDITOR|PATH|SHLVL|PWD|OLDPWD|INIT_CWD|COLUMNS|LINES|COLOR|COLORTERM|TERM|STY|WINDOW|WINDOWID|GPG_TTY)$/,
  /^(npm|TERM|TMUX|SSH|XDG_SESSION|VSCODE|GNOME_TERMINAL|ITERM|KITTY|WEZTERM|KONSOLE|ALACRITTY|WT|DIRENV)_/,
  /^(INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|DBUS_SESSION_BUS_ADDRESS|TMUX|FNM_.*)$/,
];

/** Keys, endpoints and quotas of an environment: a worker that has others is not adopted. */
const settingsIn = (env: Record<string, string | undefined>): [string, string | undefined][] =>
  Object.entries(env)
    .filter(([name]) => !VOLATILE.some((names) => names.test(name)))
    .sort(([left], [right]) => (left < right ? -1 : 1));
