/** The id of a run, which is its folder's name and its workflow's id. */
export const runIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;
export const runIdRule = '1 to 80 letters, digits, dots, dashes or underscores, a letter or digit first';
