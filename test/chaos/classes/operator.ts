import type { Progress } from '../../../src/types/activity-types.ts';
import { epochWorkflowId } from '../../../src/formats/epoch-id.ts';
import { until } from '../../../test-support/processes.ts';
import type { Disturbance, FaultClass } from '../fault-class.ts';
import { patience } from '../scene.ts';
import type { Scene } from '../scene.ts';

const row = 'operator verbs in each phase';
const workflowOfEpoch = ({ id, epoch }: Scene): string => epochWorkflowId(id, epoch);

/** What a verb may cost: the phase that it interrupts. */
const allowed = { requests: 4, activities: 2 };

const verb = (name: string, act: (scene: Scene) => Promise<void>): FaultClass => ({
  name: `temporal ${name}`,
  row,
  async inject(scene): Promise<Disturbance> {
    await scene.begin();
    await scene.anyMoment();
    await act(scene);
    return { back: Date.now(), allowed };
  },
});

/** A plain `temporal` command on a workflow. */
const temporal = (scene: Scene, workflow: string, ...args: string[]): Promise<string> =>
  scene.stack.live.temporalCli(...args, '--workflow-id', workflow);

/** Whether its last epoch is committed: what came in that moment, or after it, had nothing to act on. */
const finished = (scene: Scene): boolean => scene.stack.live.ledger(scene.id) === scene.stack.reference;

async function closed(scene: Scene, ...states: string[]): Promise<void> {
  await until(
    async () => (await scene.handle.describe()).status.name !== 'RUNNING',
    patience,
    `the end of ${scene.id}`,
  );
  const { name } = (await scene.handle.describe()).status;
  if (name === 'COMPLETED' && finished(scene)) return;
  if (!states.includes(name)) throw new Error(`${scene.id} is ${name}; expected ${states.join(' or ')}`);
}

/** Acts on an activity that is under way; false where the run has ended before one was met. */
async function onActivity(
  scene: Scene,
  act: (workflow: string, activity: string) => Promise<void>,
): Promise<void> {
  const workflow = workflowOfEpoch(scene);
  const handle = scene.stack.live.client.workflow.getHandle(workflow);
  await until(
    async () => {
      const { raw } = await handle.describe().catch(() => ({ raw: { pendingActivities: [] } }));
      const activity = raw.pendingActivities?.[0]?.activityId;
      if (!activity) return false;
      try {
        await act(workflow, activity);
        return true;
      } catch (error) {
        // It has ended in the meantime: the next one will do.
        if (/not found|not running|already completed|no pending activity/i.test(String(error))) return false;
        throw error;
      }
    },
    patience,
    `an activity of ${workflow}`,
  );
}

async function ifRunning(act: Promise<unknown>): Promise<void> {
  try {
    await act;
  } catch (error) {
    if (!/already completed|not found|not running|has ended/i.test(String(error))) throw error;
  }
}

const onEpoch = (name: string, ...args: string[]): FaultClass =>
  verb(`${name} on an epoch`, (scene) => ifRunning(temporal(scene, workflowOfEpoch(scene), ...args)));

const reset = (type: string, target: 'run' | 'epoch'): FaultClass =>
  verb(`workflow reset (${type}) on ${target === 'run' ? 'a run' : 'an epoch'}`, async (scene) => {
    await ifRunning(
      temporal(
        scene,
        target === 'run' ? scene.id : workflowOfEpoch(scene),
        'workflow',
        'reset',
        '--type',
        type,
        '--reason',
        'chaos',
      ),
    );
  });

export const operatorClasses: FaultClass[] = [
  verb('workflow update execute: pause, resume', async (scene) => {
    await ifRunning(temporal(scene, scene.id, 'workflow', 'update', 'execute', '--name', 'pause'));
    const { status } = await scene.handle.query<Progress>('progress');
    if (status === 'finished' && finished(scene)) return;
    if (status !== 'paused') throw new Error(`progress says ${status} after pause`);
    await scene.pause(scene.random.int(2_000));
    await temporal(scene, scene.id, 'workflow', 'update', 'execute', '--name', 'resume');
  }),
  verb('workflow update execute: stopAfterEpoch, and start again', async (scene) => {
    await ifRunning(temporal(scene, scene.id, 'workflow', 'update', 'execute', '--name', 'stopAfterEpoch'));
    await closed(scene, 'COMPLETED');
    const { outcome } = (await scene.handle.result()) as { outcome: string };
    const expected = finished(scene) ? 'finished' : 'stopped';
    if (outcome !== expected) throw new Error(`the outcome is ${outcome}, not ${expected}`);
    await scene.begin();
  }),
  verb('workflow cancel, and start again', async (scene) => {
    await ifRunning(temporal(scene, scene.id, 'workflow', 'cancel'));
    await closed(scene, 'CANCELED', 'CANCELLED');
    await scene.begin();
  }),
  verb('workflow terminate, and start again', async (scene) => {
    await ifRunning(temporal(scene, scene.id, 'workflow', 'terminate'));
    await closed(scene, 'TERMINATED');
    await scene.begin();
  }),
  onEpoch('workflow terminate', 'workflow', 'terminate'),
  onEpoch('workflow cancel', 'workflow', 'cancel'),
  reset('FirstWorkflowTask', 'run'),
  reset('LastWorkflowTask', 'run'),
  reset('FirstWorkflowTask', 'epoch'),
  reset('LastWorkflowTask', 'epoch'),
  verb('activity pause, unpause', (scene) =>
    onActivity(scene, async (workflow, activity) => {
      await temporal(scene, workflow, 'activity', 'pause', '--activity-id', activity);
      await scene.pause(scene.random.int(1_500));
      await ifRunning(temporal(scene, workflow, 'activity', 'unpause', '--activity-id', activity));
    }),
  ),
  verb('activity reset', (scene) =>
    onActivity(scene, async (workflow, activity) => {
      await temporal(scene, workflow, 'activity', 'reset', '--activity-id', activity);
    }),
  ),
];
