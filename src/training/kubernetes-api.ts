/** The few requests to a Kubernetes API server that jobs need, with the credentials of a kubeconfig or of a pod. */
import type { KubeConfig } from '@kubernetes/client-node';
import type { RequestOptions } from 'node:https';
import { z } from 'zod';
import { plainRequest } from '../async/plain-request.ts';
import type { PlainAnswer, PlainRequest } from '../async/plain-request.ts';
import type { KubernetesSettings } from '../config/kubernetes.ts';
import { connectionProblem, shortReason } from '../inference/outage-reason.ts';
import { ModelUnavailable } from '../inference/policy-client.ts';
import { jobSchema, podSchema } from './kubernetes-objects.ts';
import type { KubernetesJob, KubernetesPod } from './kubernetes-objects.ts';

const timeoutMs = 30_000;
const maxBytes = 16_000_000;
/** Statuses of a server that is overloaded or starts. */
const CONFLICT = 409;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const TOO_MANY = 429;
const SERVER_ERROR = 500;

/** The API server refuses a request as such: it is not permitted, or a setting is wrong. */
export class KubernetesRefused extends Error {
  override readonly name = 'KubernetesRefused';
}

const statusSchema = z.object({ reason: z.string().optional(), message: z.string().optional() });

export class KubernetesApi {
  readonly #namespace: string;
  readonly #config: () => Promise<KubeConfig>;

  constructor(settings: Pick<KubernetesSettings, 'namespace' | 'kubeconfig' | 'context'>) {
    this.#namespace = settings.namespace;
    this.#config = () => loadConfig(settings);
  }

  /** @returns whether it is new: false if there is a job of that name @throws KubernetesRefused, ModelUnavailable */
  async create(job: object, dryRun = false): Promise<boolean> {
    const query = dryRun ? '?dryRun=All&fieldValidation=Strict' : '?fieldValidation=Strict';
    const answer = await this.#ask(`${this.#jobs}${query}`, { method: 'POST', body: JSON.stringify(job) });
    // A quota that is used up is a 403, and one that is counted again a 409: that has no AlreadyExists.
    if (answer.status === CONFLICT && reasonOf(answer) === 'AlreadyExists') return false;
    this.#requireSuccess(answer);
    return true;
  }

  /** @returns undefined if there is none */
  async find(name: string): Promise<KubernetesJob | undefined> {
    const answer = await this.#ask(`${this.#jobs}/${name}`, { method: 'GET' });
    if (isMissing(answer)) return undefined;
    return jobSchema.parse(this.#bodyOf(answer));
  }

  async list(selector: string): Promise<KubernetesJob[]> {
    const query = `?labelSelector=${encodeURIComponent(selector)}&limit=500`;
    return z
      .object({ items: z.array(jobSchema) })
      .parse(this.#bodyOf(await this.#ask(`${this.#jobs}${query}`, { method: 'GET' }))).items;
  }

  async pods(job: string): Promise<KubernetesPod[]> {
    const query = `?labelSelector=${encodeURIComponent(`batch.kubernetes.io/job-name=${job}`)}&limit=500`;
    return z
      .object({ items: z.array(podSchema) })
      .parse(this.#bodyOf(await this.#ask(`${this.#pods}${query}`, { method: 'GET' }))).items;
  }

  /** Deletes a job, which is gone when its pods are. @returns whether there was one */
  async removeJob(name: string): Promise<boolean> {
    return this.#remove(`${this.#jobs}/${name}`, { propagationPolicy: 'Foreground' });
  }

  /** Ends a pod at once, without SIGTERM. */
  async killPod(name: string): Promise<boolean> {
    return this.#remove(`${this.#pods}/${name}`, { gracePeriodSeconds: 0 });
  }

  async #remove(path: string, options: object): Promise<boolean> {
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', ...options });
    const answer = await this.#ask(path, { method: 'DELETE', body });
    if (isMissing(answer)) return false;
    this.#requireSuccess(answer);
    return true;
  }

  get #jobs(): string {
    return `/apis/batch/v1/namespaces/${this.#namespace}/jobs`;
  }

  get #pods(): string {
    return `/api/v1/namespaces/${this.#namespace}/pods`;
  }

  async #ask(path: string, request: Pick<PlainRequest, 'method' | 'body'>): Promise<PlainAnswer> {
    const config = await this.#config();
    const server = config.getCurrentCluster()!.server.replace(/\/$/, '');
    const tls: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(tls);
      const { headers: credentials, ...connection } = tls;
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(credentials as Record<string, string> | undefined),
      };
      const url = new URL(server + path);
      return await plainRequest(url, { ...request, headers, connection, timeoutMs, maxBytes });
    } catch (error) {
      throw away(server, connectionProblem(error));
    } finally {
      if (typeof tls.agent === 'object') tls.agent.destroy();
    }
  }

  #bodyOf(answer: PlainAnswer): unknown {
    this.#requireSuccess(answer);
    return JSON.parse(answer.text);
  }

  /** @throws KubernetesRefused, or ModelUnavailable for what passes */
  #requireSuccess(answer: PlainAnswer): void {
    const { status } = answer;
    if (status >= 200 && status < 300) return;
    const text = `answered ${status}: ${messageOf(answer)}`;
    const isPassing = [401, CONFLICT, TOO_MANY].includes(status) || status >= SERVER_ERROR;
    if (isPassing || (status === FORBIDDEN && text.includes('exceeded quota')))
      throw away('the Kubernetes API server', text);
    throw new KubernetesRefused(shortReason(`the Kubernetes API server ${text}`));
  }
}

function away(server: string, problem: string): ModelUnavailable {
  const reason = shortReason(problem);
  return new ModelUnavailable(`${server}: ${reason}`, { server, reason });
}

/** A proxy answers 404 too: an API server says which object it does not know. */
const isMissing = (answer: PlainAnswer): boolean =>
  answer.status === NOT_FOUND && reasonOf(answer) === 'NotFound';

const reasonOf = (answer: PlainAnswer): string | undefined => statusOf(answer)?.reason;
const messageOf = (answer: PlainAnswer): string => statusOf(answer)?.message ?? answer.text;

function statusOf({ text }: PlainAnswer): z.infer<typeof statusSchema> | undefined {
  try {
    return statusSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Cluster and credentials, read again for each request: tokens of pods are replaced each hour. The library is
 * large, so only workers that need it load it.
 * @throws ModelUnavailable for a file that cannot be read: whoever runs the worker can mend it
 */
async function loadConfig({
  kubeconfig,
  context,
}: Pick<KubernetesSettings, 'kubeconfig' | 'context'>): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
    if (context !== undefined) config.setCurrentContext(context);
  } catch (error) {
    throw away(kubeconfig ?? 'kubeconfig', String(error));
  }
  if (config.getCurrentCluster() === null)
    throw away(kubeconfig ?? 'kubeconfig', `has no context ${context ?? '(none is current)'}`);
  return config;
}
