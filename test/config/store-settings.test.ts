import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readStoreSettings } from '../../src/config/store-settings.ts';

function homeWith(text?: string): string {
  const home = mkdtempSync(join(tmpdir(), 'genenv-store-json-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  if (text !== undefined) writeFileSync(join(home, 'store.json'), text);
  return home;
}

test('without the file a home folder keeps its runs itself', () => {
  expect(readStoreSettings(homeWith())).toBeUndefined();
});

test('a bucket has a name, and the rest may be left out', () => {
  expect(readStoreSettings(homeWith('{"type": "s3", "bucket": "my-runs"}'))).toEqual({
    type: 's3',
    bucket: 'my-runs',
    prefix: '',
  });
});

test.each([
  ['{', /expected JSON/],
  ['{"bucket": "my-runs"}', /store: type/],
  ['{"type": "s3", "bucket": "My Runs"}', /store: bucket: got "My Runs"; expected the name of a bucket/],
  ['{"type": "s3", "bucket": "my-runs", "prefix": "/a"}', /store: prefix: got "\/a"/],
  ['{"type": "s3", "bucket": "my-runs", "prefix": "a/../../b/"}', /store: prefix/],
  ['{"type": "s3", "bucket": "my-runs", "endpoint": "http://user:secret@host"}', /store: endpoint/],
  ['{"type": "s3", "bucket": "my-runs", "secretAccessKey": "x"}', /secretAccessKey/],
  ['{"type": "s3", "bucket": "my-runs", "cacheGigabytes": 0}', /store: cacheGigabytes/],
])('what is wrong is refused by field: %s', (text, message) => {
  expect(() => readStoreSettings(homeWith(text))).toThrow(message);
});
