/** The input of `openEpoch`. */
export const opening = (id: string, lastEpoch: number | null) => ({
  id,
  // eslint-disable-next-line id-denylist -- a field on the wire
  known: lastEpoch,
  thorough: true,
});
