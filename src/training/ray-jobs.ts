/** The jobs of a Ray cluster, by the REST API of its dashboard. */
import { z } from 'zod';
import { plainRequest } from '../async/plain-request.ts';
import type { PlainAnswer, PlainRequest } from '../async/plain-request.ts';
import { connectionProblem, shortReason } from '../inference/outage-reason.ts';
import { ModelUnavailable } from '../inference/policy-client.ts';

/** A dashboard that this worker may ask. */
export interface RayAddress {
  baseUrl: string;
  apiKey: string | undefined;
}

/** A job as it is submitted: a line for the shell of a node that has the resources free. */
export interface RaySubmission {
  id: string;
  entrypoint: string;
  variables: Record<string, string>;
  cpus: number;
  gpus: number;
}

const jobSchema = z.object({
  status: z.enum(['PENDING', 'RUNNING', 'STOPPED', 'SUCCEEDED', 'FAILED']),
  message: z.string().nullish(),
  error_type: z.string().nullish(),
  driver_exit_code: z.int().nullish(),
});
export type RayJob = z.infer<typeof jobSchema>;

/** Ray itself waits 10 s for the agent of its head before it answers. */
const timeoutMs = 30_000;
const maxBytes = 4_000_000;

/** Ray refused a submission, which may be because it has a job of that id. */
export class RayRefused extends Error {
  override readonly name = 'RayRefused';
}

export class RayJobs {
  readonly #address: RayAddress;

  constructor(address: RayAddress) {
    this.#address = address;
  }

  /** @throws RayRefused, ModelUnavailable: either may hide a job that was submitted nevertheless */
  async submit({ id, entrypoint, variables, cpus, gpus }: RaySubmission): Promise<void> {
    const answer = await this.#ask('', {
      method: 'POST',
      body: JSON.stringify({
        submission_id: id,
        entrypoint,
        entrypoint_num_cpus: cpus,
        entrypoint_num_gpus: gpus,
        runtime_env: { env_vars: variables },
      }),
    });
    if (answer.status === 200) return;
    // The last line of a traceback is its message.
    const [line = ''] = answer.text.trim().split('\n').slice(-2);
    throw new RayRefused(`Ray at ${this.#host} answered ${answer.status} to job ${id}: ${shortReason(line)}`);
  }

  /** @returns undefined if Ray says that it has no such job */
  async find(id: string): Promise<RayJob | undefined> {
    const answer = await this.#ask(id, { method: 'GET' });
    if (isMissing(answer)) return undefined;
    const job = answer.status === 200 ? jobSchema.safeParse(parseJson(answer.text)).data : undefined;
    if (job === undefined) throw this.#unexpected(answer);
    return job;
  }

  /** Asks the job to end, by SIGTERM, then by SIGKILL. @returns whether there is such a job */
  async stop(id: string): Promise<boolean> {
    const answer = await this.#ask(`${id}/stop`, { method: 'POST' });
    if (isMissing(answer)) return false;
    if (answer.status !== 200) throw this.#unexpected(answer);
    return true;
  }

  /** Removes what Ray knows of a job that has ended. */
  async remove(id: string): Promise<void> {
    const answer = await this.#ask(id, { method: 'DELETE' });
    if (answer.status !== 200 && !isMissing(answer)) throw this.#unexpected(answer);
  }

  get #host(): string {
    return new URL(this.#address.baseUrl).origin;
  }

  async #ask(path: string, request: Pick<PlainRequest, 'method' | 'body'>): Promise<PlainAnswer> {
    const { baseUrl, apiKey } = this.#address;
    const url = new URL(`${baseUrl.replace(/\/$/, '')}/api/jobs/${path}`);
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (apiKey !== undefined) headers.authorization = `Bearer ${apiKey}`;
    const answer = await plainRequest(url, { ...request, headers, timeoutMs, maxBytes }).catch(
      (error: unknown) => {
        throw this.#away(connectionProblem(error));
      },
    );
    if (answer.status === 401 || answer.status === 403)
      throw this.#away(`it refuses ${apiKey === undefined ? 'requests without a key' : 'the key'}`);
    return answer;
  }

  #unexpected({ status, text }: PlainAnswer): ModelUnavailable {
    return this.#away(`it answered ${status}, not as Ray's jobs do: ${text}`);
  }

  #away(problem: string): ModelUnavailable {
    const reason = shortReason(problem);
    return new ModelUnavailable(`Ray at ${this.#host}: ${reason}`, { server: this.#host, reason });
  }
}

/** A proxy answers 404 too, if Ray is away: that is no word on a job. */
const isMissing = ({ status, text }: PlainAnswer): boolean =>
  status === 404 && /^Job \S+ does not exist/.test(text);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
