import type { ConnectionOptions } from '@temporalio/client';

/**
 * Options of a connection that goes to a server on this machine directly: gRPC would ask it through the proxy that
 * `https_proxy` names.
 */
export const directIfLocal = <Options extends ConnectionOptions>(options: Options): Options =>
  isLocal(options.address ?? 'localhost')
    ? { ...options, channelArgs: { 'grpc.enable_http_proxy': 0, ...options.channelArgs } }
    : options;

const isLocal = (address: string): boolean => /^(127\.[\d.]+|localhost|\[::1\])(:\d+)?$/.test(address);
