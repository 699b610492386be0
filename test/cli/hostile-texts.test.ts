import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { processContext } from '../../src/cli/context.ts';
import { createLiveText } from '../../src/cli/lib/live-text.ts';

const hostile = 'said \u001b]0;OWNED\u0007\u001b[31mred\r\u009b2J \u202etxt.exe';
const plain = 'said \\u001b]0;OWNED\\u0007\\u001b[31mred\\u000d\\u009b2J \\u202etxt.exe';

test('a terminal obeys nothing of what a command prints', () => {
  const written: string[] = [];
  const record = (text: unknown): boolean => written.push(String(text)) > 0;
  const streams = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation(record),
  );
  const { print, warn } = processContext();
  print(`line 1\n\t${hostile}`);
  warn(hostile);
  print(JSON.stringify({ reason: hostile }));
  for (const stream of streams) stream.mockRestore();
  expect(written.slice(0, 2)).toEqual([`line 1\n\t${plain}\n`, `${plain}\n`]);
  // JSON for other programs stays what it was.
  expect(JSON.parse(written[2]!)).toEqual({ reason: hostile });
});

test('nor of what is drawn in place', () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 200, rows: 50 });
  let drawn = '';
  terminal.on('data', (data: Buffer) => (drawn += data.toString()));
  const live = createLiveText(terminal as unknown as NodeJS.WriteStream);
  live.show(hostile);
  live.done();
  expect(drawn).toContain(plain);
  expect(drawn).not.toContain('\u001b]0;');
});
