import Table from 'cli-table3';

const EDGES = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((edge) => [edge, `${edge}-mid`]);
const CORNERS = ['top-left', 'top-right', 'bottom-left', 'bottom-right'];

/** A table without colours or frames, that also reads well in a log. */
export function plainTable(head: string[]): InstanceType<typeof Table> {
  const noFrame = Object.fromEntries([...EDGES, ...CORNERS].map((edge) => [edge, '']));
  return new Table({
    head,
    chars: { ...noFrame, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
}
