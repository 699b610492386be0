import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesSettings } from '../config/kubernetes.ts';
import { readOperatorSetting } from '../inference/endpoints.ts';
import { ModelUnavailable } from '../inference/policy-client.ts';
import { KubernetesApi, KubernetesRefused } from './kubernetes-api.ts';
import {
  fenceLabel,
  jobManifest,
  kubernetesName,
  kubernetesState,
  workSelector,
} from './kubernetes-objects.ts';
import { plannedHandle, shellWord, TrainerUnavailable, unansweredState } from './launcher.ts';
import type { JobHandle, JobState, JobSubmission, Launcher } from './launcher.ts';

/**
 * Jobs of a Kubernetes namespace, whose pods mount the store where the workers do. The name of a Job is of the key
 * and the claim, so creating it twice finds the first.
 */
export class KubernetesLauncher implements Launcher {
  readonly type = 'kubernetes';
  readonly pollMs = 2_000;
  readonly settleMs = 10_000;
  /** Nodes are drained, and Kueue takes back what it has admitted. */
  readonly preempts = true;
  readonly #read: () => KubernetesSettings;
  readonly #job: { processes: number; variables: Readonly<Record<string, string>> };
  /** As they were last read: for people, while the file is wrong. */
  #last: KubernetesSettings | undefined;

  /**
   * @param settings of the operator, as they are now @throws InvalidConfig
   * @param job its processes, and what they get of the environment
   */
  constructor(
    settings: () => KubernetesSettings,
    job: { processes: number; variables: Readonly<Record<string, string>> },
  ) {
    this.#read = settings;
    this.#job = job;
  }

  async submit(submission: JobSubmission): Promise<JobHandle> {
    const settings = this.#settings();
    const api = new KubernetesApi(settings);
    try {
      await this.#removeEarlier(api, submission);
      await api.create(jobManifest(submission, settings, this.#job));
    } catch (error) {
      if (!(error instanceof KubernetesRefused)) throw error;
      throw new TrainerUnavailable(
        `${error.message}; docs/kubernetes.md says what a worker may do and needs`,
      );
    }
    return { ...plannedHandle('kubernetes', submission), id: kubernetesName(submission) };
  }

  async state(handle: JobHandle): Promise<JobState> {
    const name = kubernetesName(handle);
    try {
      const api = new KubernetesApi(this.#settings());
      const job = await api.find(name);
      const pods = job === undefined ? [] : await api.pods(name);
      return kubernetesState(job, pods);
    } catch (error) {
      return unansweredState(error, 'the Kubernetes API server');
    }
  }

  async cancel(handle: JobHandle, graceMs: number): Promise<boolean> {
    const name = kubernetesName(handle);
    try {
      const api = new KubernetesApi(this.#settings());
      if (graceMs === 0) for (const { metadata } of await api.pods(name)) await api.killPod(metadata.name);
      const isReached = await api.removeJob(name);
      const begun = Date.now();
      while (isReached && Date.now() - begun < graceMs && (await api.find(name)) !== undefined)
        await sleep(Math.min(500, graceMs));
      return isReached;
    } catch (error) {
      if (!(error instanceof ModelUnavailable)) throw error;
      return false;
    }
  }

  logs(handle: JobHandle): string {
    const { namespace = 'NAMESPACE', kubeconfig, context } = this.#last ?? {};
    const options = Object.entries({ kubeconfig, context, namespace })
      .filter((entry): entry is [string, string] => entry[1] !== undefined)
      .map(([option, value]) => `--${option} ${shellWord(value)}`);
    return `kubectl ${options.join(' ')} logs job/${kubernetesName(handle)}`;
  }

  describe(handle: JobHandle): string {
    return `Kubernetes job ${this.#last?.namespace ?? 'NAMESPACE'}/${kubernetesName(handle)}`;
  }

  /**
   * The operator's settings as they are now. A file that is missing or wrong is waited for, as an API server that is
   * away: whoever runs the worker can mend it, and whoever started the run cannot.
   * @throws ModelUnavailable
   */
  #settings(): KubernetesSettings {
    this.#last = readOperatorSetting('the file of Kubernetes settings', this.#read);
    return this.#last;
  }

  /** A Job that Kueue has suspended again would start later, beside that of the next claim. */
  async #removeEarlier(api: KubernetesApi, submission: JobSubmission): Promise<void> {
    for (const { metadata } of await api.list(workSelector(submission)))
      if (Number(metadata.labels[fenceLabel]) < submission.fence) await api.removeJob(metadata.name);
  }
}
