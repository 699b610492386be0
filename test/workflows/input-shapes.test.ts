import { describe, expect, it } from 'vitest';
import { workflowSettingsSchema } from '../../src/types/run-state.ts';
import { settings as settingsShape } from '../../src/workflows/input-shapes.ts';
import { tinyWorkflowSettings } from '../../test-support/workflow-settings.ts';

const settings = { ...tinyWorkflowSettings, maxOutageSeconds: 60, gateEvery: 5, maxTokens: 5 };

const accepted = (value: object): boolean => [...settingsShape(value, 'settings')].length === 0;

describe('the settings that a workflow accepts', () => {
  const numbers = Object.entries(settings).filter(([, value]) => typeof value === 'number');
  const tried = [
    ...[-1e12, -1, 0, 0.5, 1, 2, 60, 1.5, NaN, Infinity, 1e300, 2 ** 53, '3', null],
    ...[128, 1e6, 1e7, 31_536_000, 1e12, 1e15].flatMap((limit) => [limit, limit + 1]),
  ];

  it.each(numbers.map(([name]) => name))('have the limits of the file in %s', (name) => {
    const verdicts = tried.map((value) => ({ value, ok: accepted({ ...settings, [name]: value }) }));
    expect(verdicts).toEqual(
      tried.map((value) => ({
        value,
        ok: workflowSettingsSchema.safeParse({ ...settings, [name]: value }).success,
      })),
    );
    expect(verdicts.filter(({ ok }) => ok)).not.toHaveLength(0);
    expect(verdicts.filter(({ value, ok }) => ok && Number(value) > 1e15)).toEqual([]);
  });

  it.each([-1, 129, 1e12, 0.5])('have at most 128 shards, not %d', (shards) => {
    const wrong = { ...settings, shards: { ...settings.shards, rollOut: shards } };
    expect(accepted(wrong)).toBe(false);
    expect(workflowSettingsSchema.safeParse(wrong).success).toBe(false);
  });

  it.each([-0.1, 1.1, NaN])('have a band of shares, not %d', (low) => {
    expect(accepted({ ...settings, band: [low, 0.6] })).toBe(false);
    expect(workflowSettingsSchema.safeParse({ ...settings, band: [low, 0.6] }).success).toBe(false);
  });
});
