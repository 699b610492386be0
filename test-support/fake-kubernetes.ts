import type { ServerResponse } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeServer } from './fake-server.ts';
import { schemaProblems } from './kubernetes-schemas.ts';

interface Stored {
  metadata: {
    name: string;
    labels: Record<string, string>;
    deletionTimestamp?: string;
    creationTimestamp: string;
  };
  spec: { suspend?: boolean };
  status: object;
}

const created = '2026-11-26T12:00:00Z';

/**
 * The Jobs and pods of a namespace, as an API server keeps them; nothing schedules or runs them but the test. A Job is
 * checked by the API's own schemas.
 */
export class FakeKubernetes extends FakeServer {
  readonly jobs = new Map<string, Stored>();
  readonly pods = new Map<string, Stored>();
  readonly requests: string[] = [];
  readonly keys: (string | undefined)[] = [];
  losesAnswer = false;
  /** What is answered to everything instead. */
  instead: { status: number; body: string } | undefined;

  static async start(): Promise<FakeKubernetes> {
    const fake = new FakeKubernetes();
    await fake.listen();
    return fake;
  }

  /** Writes a kubeconfig for this server. @returns its path */
  kubeconfig(folder: string, token = 'token-of-the-worker'): string {
    const file = join(folder, 'kubeconfig.json');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: this.origin, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'test',
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  /** Gives a job a pod with that status. */
  setPod(job: string, status: object, name = `${job}-x1`): void {
    this.pods.set(name, {
      metadata: { name, labels: { 'batch.kubernetes.io/job-name': job }, creationTimestamp: created },
      spec: {},
      status,
    });
  }

  /** Ends a job, with the exit code of its pod. */
  endJob(name: string, exitCode: number): void {
    const state = { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } };
    this.setPod(name, { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses: [{ state }] });
    this.jobs.get(name)!.status = {
      conditions: [{ type: exitCode === 0 ? 'Complete' : 'Failed', status: 'True' }],
    };
  }

  protected override answer(url: string | undefined, body: Buffer, response: ServerResponse): void {
    const { method = '', headers } = response.req;
    const { pathname, searchParams } = new URL(url!, this.origin);
    this.requests.push(`${method} ${url!}`);
    this.keys.push(headers.authorization);
    const [, resource, name] =
      /^\/(?:apis\/batch\/v1|api\/v1)\/namespaces\/genenv\/(jobs|pods)(?:\/([^/]+))?$/.exec(pathname) ?? [];
    const objects = resource === 'jobs' ? this.jobs : this.pods;
    if (this.instead !== undefined) response.writeHead(this.instead.status).end(this.instead.body);
    else if (resource === undefined)
      send(response, 404, statusOf('NotFound', 'the server could not find it'));
    else if (name !== undefined) this.#answerOn(name, { method, objects, response });
    else if (method === 'POST') this.#create(JSON.parse(body.toString()) as Stored, response);
    else {
      const [label = '', value] = searchParams.get('labelSelector')!.split('=');
      send(response, 200, {
        items: [...objects.values()].filter(({ metadata }) => metadata.labels[label] === value),
      });
    }
  }

  #answerOn(
    name: string,
    request: { method: string; objects: Map<string, Stored>; response: ServerResponse },
  ): void {
    const { method, objects, response } = request;
    const object = objects.get(name);
    if (object === undefined) {
      send(response, 404, statusOf('NotFound', `"${name}" not found`));
      return;
    }
    if (method === 'DELETE') this.#remove(object, objects);
    send(response, 200, object);
  }

  #create(job: Stored, response: ServerResponse): void {
    const problems = schemaProblems(job);
    const { name } = job.metadata;
    if (problems.length > 0) send(response, 400, statusOf('BadRequest', problems.join('; ')));
    else if (this.jobs.has(name)) send(response, 409, statusOf('AlreadyExists', `"${name}" already exists`));
    else {
      job.metadata.creationTimestamp = created;
      this.jobs.set(name, { ...job, status: {} });
      if (this.losesAnswer) response.destroy();
      else send(response, 201, job);
    }
  }

  /** A Job is there until its pods are gone. */
  #remove({ metadata }: Stored, objects: Map<string, Stored>): void {
    const isHeld = [...this.pods.values()].some(
      (pod) => pod.metadata.labels['batch.kubernetes.io/job-name'] === metadata.name,
    );
    if (objects === this.jobs && isHeld) metadata.deletionTimestamp = created;
    else objects.delete(metadata.name);
  }
}

function send(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const statusOf = (reason: string, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason,
  message,
});
