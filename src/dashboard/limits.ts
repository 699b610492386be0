/** The most runs that are compared at once: their ids stand in an address. */
export const MAX_COMPARED = 60;
