import Table from 'cli-table3';

/** A table without colours or frames, that also reads well in a log. */
export function plainTable(head: string[]): InstanceType<typeof Table> {
  const none = Object.fromEntries(
    [
      'top',
      'top-mid',
      'top-left',
      'top-right',
      'bottom',
      'bottom-mid',
      'bottom-left',
      'bottom-right',
      'left',
      'left-mid',
      'mid',
      'mid-mid',
      'right',
      'right-mid',
    ].map((edge) => [edge, '']),
  );
  return new Table({
    head,
    chars: { ...none, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
}
