import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bandResidence, inBandShare, isInBand } from '../../src/coevolution/success-band.ts';

describe('inBandShare', () => {
  it('counts measured rates in [0.4, 0.6], ends included', () => {
    expect(inBandShare([0.4, 0.6, 0.5, 0.39, 0.61, null])).toBe(0.6);
    expect(inBandShare([0.1, null], { low: 0, high: 0.2 })).toBe(1);
    expect(inBandShare([null])).toBeNull();
    expect(inBandShare([])).toBeNull();
    // 0.1 + 0.2 + 0.3 is 0.6000000000000001.
    expect(isInBand(0.1 + 0.2 + 0.3)).toBe(true);
  });

  it('sees a bimodal batch that the mean does not', () => {
    expect(isInBand((0 + 0 + 1 + 1) / 4)).toBe(true);
    expect(inBandShare([0, 0, 1, 1])).toBe(0);
  });

  it('names what is out of its domain', () => {
    expect(() => inBandShare([null, 1.5])).toThrow('rates[1] must be in [0, 1], got 1.5');
    expect(() => isInBand(0.5, { low: 0.6, high: 0.4 })).toThrow('band.high must be in [0.6, 1], got 0.4');
  });
});

describe('bandResidence', () => {
  it('judges each epoch by itself with a window of 1', () => {
    // In band at epochs 1, 2 and 4 of five: 3/5; from entry at 1 on: 3 of 4.
    expect(bandResidence([0.1, 0.5, 0.4, 0.7, 0.6], { window: 1 })).toEqual({
      entry: 1,
      residence: 0.6,
      afterEntry: 0.75,
    });
  });

  it('judges trailing means, from the first full window on', () => {
    // Means of two: 0.25, 0.3, 0.45, 0.55, 0.75: the lucky first epoch is no entry; epochs 3 and 4 are in.
    expect(bandResidence([0.5, 0, 0.6, 0.3, 0.8, 0.7], { window: 2 })).toEqual({
      entry: 3,
      residence: 0.4,
      afterEntry: 2 / 3,
    });
    // The trace of the paper, epochs 1..6, as it is: 0.425 0.488 0.505 0.517 0.524 in band, entry at the
    // second.
    expect(bandResidence([0.138, 0.425, 0.488, 0.505, 0.517, 0.524], { window: 1 })).toEqual({
      entry: 1,
      residence: 5 / 6,
      afterEntry: 1,
    });
  });

  it('leaves out what was not measured', () => {
    expect(bandResidence([null, 0.5, null, 0.9], { window: 1 })).toEqual({
      entry: 1,
      residence: 0.5,
      afterEntry: 0.5,
    });
    expect(bandResidence([null, 0.5], { window: 2 })).toEqual({ entry: 1, residence: 1, afterEntry: 1 });
    const nothing = { entry: null, residence: null, afterEntry: null };
    expect(bandResidence([], { window: 3 })).toEqual(nothing);
    expect(bandResidence([0.5], { window: 2 })).toEqual(nothing);
    expect(bandResidence([null], { window: 1 })).toEqual(nothing);
    expect(bandResidence([0.9], { window: 1 })).toEqual({ entry: null, residence: 0, afterEntry: null });
  });

  it('is at least as much after entry as before', () => {
    const rates = fc.array(fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }));
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 6 }), (values, window) => {
        const { entry, residence, afterEntry } = bandResidence(values, { window });
        if (entry !== null && residence !== null && afterEntry !== null) {
          expect(residence).toBeGreaterThan(0);
          expect(afterEntry).toBeGreaterThanOrEqual(residence);
          expect(entry).toBeGreaterThanOrEqual(window - 1);
        } else expect(residence === null || residence === 0).toBe(true);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => bandResidence([0.5], { window: 0 })).toThrow(
      'window must be an integer of at least 1, got 0',
    );
    expect(() => bandResidence([-1], { window: 1 })).toThrow('successRates[0] must be in [0, 1], got -1');
  });
});
