/**
 * Checks of arguments. A value outside a formula's domain is a defect of the caller, so it is named and
 * thrown, never clamped: a NaN that slips into a mean would end in a ledger.
 */

/** Distances and rates nearer than this are equal: 0.6 - 0.5 and 0.5 - 0.4 differ in their last bit. */
export const ROUNDING = 1e-9;

export function requireFinite(name: string, value: number): void {
  if (!Number.isFinite(value)) throw new RangeError(`${name} must be a finite number, got ${value}`);
}

export function requireInRange(name: string, value: number, low: number, high: number): void {
  if (!(value >= low && value <= high))
    throw new RangeError(`${name} must be in [${low}, ${high}], got ${value}`);
}

export function requirePositive(name: string, value: number): void {
  if (!(value > 0 && Number.isFinite(value)))
    throw new RangeError(`${name} must be a finite number above 0, got ${value}`);
}

export function requireInteger(
  name: string,
  value: number,
  low: number,
  high = Number.MAX_SAFE_INTEGER,
): void {
  if (!Number.isSafeInteger(value) || value < low || value > high) {
    const allowed = high === Number.MAX_SAFE_INTEGER ? `of at least ${low}` : `in [${low}, ${high}]`;
    throw new RangeError(`${name} must be an integer ${allowed}, got ${value}`);
  }
}

/** k successes of n attempts, 0 <= k <= n. */
export function requireCount(
  name: string,
  { successes, attempts }: { successes: number; attempts: number },
): void {
  requireInteger(`${name}.attempts`, attempts, 0);
  requireInteger(`${name}.successes`, successes, 0, attempts);
}

export function requireSameLength(
  left: string,
  leftLength: number,
  right: string,
  rightLength: number,
): void {
  if (leftLength !== rightLength) {
    throw new RangeError(`${left} and ${right} must be equally long, got ${leftLength} and ${rightLength}`);
  }
}
