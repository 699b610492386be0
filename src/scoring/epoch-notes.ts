/** The notes of an epoch as people read them. Workflows show them, so nothing here touches files or servers. */

/** What the trainer's words for an update that did not happen mean. */
const updateTexts: Record<string, string> = {
  empty_batch: 'no record to learn from',
  too_few_informative_groups: 'too few tasks whose rewards differ, see agent.training.minInformativeGroups',
  not_finite: 'loss or gradient not finite, a lower learning rate may help',
  kl_cap: 'the first step was undone, its KL was above twice its cap',
};

/** A note of the ledger for people. */
export const noteText = (note: string): string =>
  note.replace(/no update \((\w+)\)/, (all, reason: string) => {
    const text = updateTexts[reason];
    return text === undefined ? all : `no update (${text})`;
  });

/** Notes and messages of an epoch for people. A message says more of an empty batch than its note. */
export const shownNotes = (notes: readonly string[], messages: readonly string[] = []): string[] => [
  ...messages,
  ...notes
    .filter((note) => messages.length === 0 || !/^(agent|environment): no update \(empty_batch\)$/.test(note))
    .map(noteText),
];
