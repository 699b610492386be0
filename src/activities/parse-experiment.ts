import { changedFields } from '../contracts/changed-fields.ts';
import type { Experiment } from '../contracts/experiment.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import { parseExperiment } from '../contracts/parse-experiment.ts';
import type { Committed, ParseInput, Plan, WorkflowSettings } from '../contracts/phases.ts';
import { hashOf } from '../store/canonical-json.ts';
import { createWorld } from '../worlds/registry.ts';
import { randomStream } from '../coevolution/seeds.ts';
import { evaluationRequests } from './evaluate-policy.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { Ports } from './ports.ts';
import { rolloutRequests } from './roll-out.ts';
import { generationCounts } from './sample.ts';

/**
 * Reads what the workflow was started with, checks it, and says where to go on: the same id with the same file goes on from
 * its ledger, with another file it is refused. Nothing is written before everything is known to be right.
 * @throws InvalidConfig naming the field
 */
export function createParseExperiment(ports: Ports) {
  return async ({ id, file }: ParseInput): Promise<Plan> => {
    checkId(id);
    const experiment = parseExperiment(file);
    const folder = ports.runFolder(id);
    const existing = await folder.readExperiment();
    const anchor = hashOf(experiment);
    if (existing !== undefined && existing.sha256 !== anchor) {
      throw new InvalidConfig(`experiment: the id ${JSON.stringify(id)} belongs to another experiment file (${changedFields(existing.experiment, experiment)}); start this one under another id, or go on with the file in ${folder.experimentFile}`);
    }
    const ref = await ports.store.putJson(experiment);
    if (existing === undefined) await folder.writeExperiment(experiment);
    const head = await folder.ledger<LedgerEntry>(anchor).head();
    const resume: Committed | null = head === undefined ? null : { epoch: head.line.epoch, line: head.sha256, state: head.line.outputs.state, metrics: head.line.metrics };
    await folder.appendEvent(resume === null ? { type: 'started' } : { type: 'resumed', epoch: resume.epoch });
    return { run: { id, experiment: ref }, settings: settingsOf(experiment), resume, searchAttributes: ports.searchAttributes };
  };
}

function checkId(id: string): void {
  if (!/^[A-Za-z0-9-][A-Za-z0-9._-]{0,79}$/.test(id)) {
    throw new InvalidConfig(`workflow id: got ${JSON.stringify(id)}; it is the experiment's id: 1 to 80 letters, digits, dots, dashes or underscores, no dot or underscore first`);
  }
}

function settingsOf(experiment: Experiment): WorkflowSettings {
  const { name, arm, epochs, evaluation, durability, agent, environment, maxTokens } = experiment;
  const heldOut = createWorld(experiment.world).heldOutTasks(randomStream(0)).length;
  const shards = (requests: number): number => Math.max(1, Math.min(durability.shards, requests));
  const newTasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return {
    name,
    arm: arm.type === 'genenv' ? `genenv-${arm.preset}` : arm.type,
    epochs,
    evaluateEvery: evaluation.every,
    epochsPerRun: durability.epochsPerRun,
    shards: { generate: shards(generationCounts(experiment).requests), rollOut: shards(rolloutRequests(experiment)), evaluate: shards(evaluationRequests(heldOut, experiment)) },
    trains: { agent: agent.training !== null, environment: environment.training !== null },
    heartbeatSeconds: durability.heartbeatSeconds,
    maxPhaseAttempts: durability.maxPhaseAttempts,
    maxTokens,
    band: [0.4, 0.6],
    rolloutsPerEpoch: newTasks * agent.rolloutsPerTask,
  };
}
