/** States of runs that Temporal knows more of than their files, and of those of which it has not answered. */
const openStates: ReadonlySet<string> = new Set(['running', 'paused', 'stopping', 'unreadable']);

/** Whether a run may be in another state a moment later, with no file changed. */
export const mayChange = ({ state }: { state: string }): boolean => openStates.has(state);
