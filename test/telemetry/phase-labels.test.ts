import { describe, expect, it } from 'vitest';
import { labelsOfActivity, labelsOfWorkflow } from '../../src/telemetry/phase-labels.ts';
import { jsonLog } from '../../src/telemetry/worker-log.ts';

/** Whoever may start workflows chooses their ids and inputs. */
const badNames = ['../elsewhere', 'a b', 'x'.repeat(81), '', 'run\u001b[31m', 'a/b'];

describe('labels of an id that no run can have', () => {
  it.each(badNames)('have no run: %j', (name) => {
    const labels = { phase: 'rollOut', attempt: 1 };
    const activity = { activityType: 'rollOut', attempt: 1, workflowId: name };
    expect(labelsOfActivity(activity, undefined)).toEqual(labels);
    expect(labelsOfActivity(activity, { run: { id: name } })).toEqual(labels);
    expect(labelsOfActivity(activity, { id: name })).toEqual(labels);
    expect(labelsOfWorkflow(`${name}/epoch-0007`)).toEqual({});
  });

  it('are left out of the log', () => {
    const lines: string[] = [];
    jsonLog((line) => lines.push(line)).logger.warn('slow', { workflowId: '../elsewhere/epoch-0007' });
    expect(lines.join('')).not.toContain('elsewhere');
  });
});

it('an epoch’s workflow names its run and epoch', () => {
  expect(labelsOfWorkflow('laptop/epoch-0007')).toEqual({ run: 'laptop', epoch: 7 });
});
