/** Bad input; the message names the field, its value and what is allowed. Never retried. */
export class InvalidConfig extends Error {
  override readonly name = 'InvalidConfig';
}
