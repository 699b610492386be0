import { expect, test } from 'vitest';
import { directIfLocal } from '../../src/temporal/direct-connection.ts';

test.each([
  ['127.0.0.1:7233', true],
  ['localhost:7233', true],
  ['[::1]:7233', true],
  ['127.0.0.1.example.com:7233', false],
  ['temporal.example.com:7233', false],
])('a server at %s is asked without a proxy: %s', (address, isDirect) => {
  const options = directIfLocal({ address, channelArgs: { 'grpc.max_metadata_size': 1 } });
  expect(options.channelArgs).toEqual({
    'grpc.max_metadata_size': 1,
    ...(isDirect && { 'grpc.enable_http_proxy': 0 }),
  });
});
