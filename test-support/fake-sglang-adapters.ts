import { LoadedAdapters } from './fake-adapters.ts';
import type { Reply } from './model-server-faults.ts';

/** How SGLang's own endpoints refuse a request. */
export const refusal = (message: string): Reply => ({ status: 400, body: { error: { message } } });

/** The adapters of SGLang, and what it says of them. */
export class FakeSglangAdapters extends LoadedAdapters {
  /** Folders by all names ever loaded: a name that was unloaded is loaded again when it is asked for. */
  readonly #folders = new Map<string, string>();

  protected override readonly replies = {
    loaded: (name: string): Reply => {
      this.#folders.set(name, this.loaded.get(name)!.folder);
      return this.#done();
    },
    loadedBefore: (name: string) =>
      this.#failed(`Failed to load LoRA adapter ${name} because it is already loaded`),
    noFolder: (_: string, folder: string) =>
      this.#failed(`Repo id must be in the form 'repo_name' or 'namespace/repo_name': '${folder}'.`),
    unloaded: () => this.#done(),
    unknown: (name: string) =>
      this.#failed(`LoRA with name ${name} does not exist. Loaded LoRAs: odict_keys([...])`),
  };

  /** The weights of an adapter, or the refusal of a request to it. */
  weightsOf(name: string | null): { weights: string | null } | Reply {
    if (name === null) return { weights: null };
    const folder = this.#folders.get(name);
    if (folder === undefined)
      return refusal(
        `Got LoRA adapter that has never been loaded: ${name}\nAll loaded adapters: dict_keys([...]).`,
      );
    if (!this.loaded.has(name)) this.load(name, folder);
    const adapter = this.loaded.get(name);
    return adapter ?? refusal(`Failed to implicitly load LoRA adapter ${name}: no such folder`);
  }

  override forget(): void {
    super.forget();
    this.#folders.clear();
  }

  #done(): Reply {
    const loaded_adapters = Object.fromEntries([...this.loaded].map(([name, { folder }]) => [name, folder]));
    return { status: 200, body: { success: true, error_message: null, loaded_adapters } };
  }

  #failed(error_message: string): Reply {
    return { status: 400, body: { success: false, error_message, loaded_adapters: null } };
  }
}
