import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 collect its old generation after little growth. A worker's live data is some 20 MB whatever the size of an epoch, since records
 * stream; left to itself V8 lets several times as much garbage lie before it looks, more the longer a phase runs. From inside, since
 * workers are started in several ways (command line, stack, containers), and this flag is read at each collection.
 */
export const keepHeapSmall = (): void => setFlagsFromString('--optimize-for-size');
