/** Bad input, said once and clearly: which field, what it holds, what is allowed. Never retried. */
export class InvalidConfig extends Error {
  override readonly name = 'InvalidConfig';
}
