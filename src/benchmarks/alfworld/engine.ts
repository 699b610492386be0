import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Sidecar } from '../sidecar.ts';

/** What a player sees after a command, or at the beginning. */
export interface GameState {
  observation: string;
  /** Every command that does something now, sorted. */
  admissible: readonly string[];
  won: boolean;
}

export interface EpisodeOutcome {
  won: boolean;
  /** Commands until the win, or all of them. */
  steps: number;
}

/**
 * The official games, played in a process of their own. Commands are compared with those that a game admits,
 * and never evaluated.
 */
export class AlfworldEngine implements AsyncDisposable {
  readonly #sidecar: Sidecar;
  /** Of its packages. */
  readonly versions: Readonly<Record<string, string>>;

  private constructor(sidecar: Sidecar, versions: Readonly<Record<string, string>>) {
    this.#sidecar = sidecar;
    this.versions = versions;
  }

  /** @throws SidecarFailed, or the signal's reason if it aborts */
  static async open(python: string, signal?: AbortSignal): Promise<AlfworldEngine> {
    const sidecar = new Sidecar({
      name: 'alfworld',
      python,
      arguments: ['-X', 'utf8', '-s', fileURLToPath(new URL('sidecar', import.meta.url))],
      // The package creates its download folder on import unless it exists.
      variables: { PYTHONHASHSEED: '0', ALFWORLD_DATA: tmpdir() },
      folder: tmpdir(),
    });
    try {
      return new AlfworldEngine(sidecar, await sidecar.ask({ ask: 'versions' }, signal));
    } catch (error) {
      await sidecar.close();
      throw error;
    }
  }

  /**
   * A new episode of the game in the file, which ends when it is disposed of or the signal aborts. @throws
   * SidecarFailed
   */
  async begin(file: string, signal: AbortSignal): Promise<Episode> {
    signal.throwIfAborted();
    const { episode, ...seen } = await this.#sidecar.ask<GameState & { episode: number }>({
      ask: 'begin',
      file,
    });
    return new Episode(this.#sidecar, episode, seen, signal);
  }

  /** Plays the commands from the beginning; the first win ends the game. @throws SidecarFailed */
  replay(file: string, commands: readonly string[], signal: AbortSignal): Promise<EpisodeOutcome> {
    return this.#sidecar.ask({ ask: 'replay', file, commands }, signal);
  }

  close(): Promise<void> {
    return this.#sidecar.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A game in progress, independent of other episodes. */
export class Episode implements AsyncDisposable {
  readonly #sidecar: Sidecar;
  readonly #episode: number;
  readonly #signal: AbortSignal;
  readonly #abort = (): void => void this.#end();
  #ended: Promise<unknown> | undefined;
  state: GameState;

  constructor(sidecar: Sidecar, episode: number, state: GameState, signal: AbortSignal) {
    this.#sidecar = sidecar;
    this.#episode = episode;
    this.#signal = signal;
    this.state = state;
    // An attempt that never gets its answer is not disposed of.
    signal.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#abort();
  }

  /** @throws SidecarFailed */
  async step(command: string): Promise<GameState> {
    this.state = await this.#sidecar.ask<GameState>(
      { ask: 'step', episode: this.#episode, command },
      this.#signal,
    );
    return this.state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#abort);
    await this.#end();
  }

  #end(): Promise<unknown> {
    // A sidecar that has failed holds no episode.
    return (this.#ended ??= this.#sidecar.ask({ ask: 'end', episode: this.#episode }).catch(() => undefined));
  }
}
