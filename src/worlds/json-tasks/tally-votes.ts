/** How many answers agree with a label, and whether most of all agree on another one. */
export function tallyVotes(
  answers: readonly string[],
  agreesWithLabel: (answer: string) => boolean,
  agree: (left: string, right: string) => boolean,
): { agreeing: number; disputed: boolean } {
  const dissenting = answers.filter((answer) => !agreesWithLabel(answer));
  const countAgreeing = (answer: string): number =>
    dissenting.filter((dissenter) => agree(answer, dissenter)).length;
  return {
    agreeing: answers.length - dissenting.length,
    disputed: dissenting.some((answer) => countAgreeing(answer) > answers.length / 2),
  };
}
