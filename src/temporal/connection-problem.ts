/**
 * Why a Temporal server cannot be reached, in words that say what to do. The libraries below say little: the
 * client's that a deadline has passed, the worker's what its TLS library calls the failure. So the connection
 * is tried once more by hand, and what happens is read.
 */
import { X509Certificate } from 'node:crypto';
import { connect as connectTcp, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { ConnectionSettings } from './connection-settings.ts';

type Options = ConnectionSettings['connectionOptions'];
type TlsOptions = Exclude<Options['tls'], boolean | null | undefined>;

const defaultAddress = 'localhost:7233';
const probeMs = 5_000;
/** A server refuses a certificate of TLS 1.3 after the handshake has succeeded for the client. */
const settleMs = 1_000;
/** What an HTTP/2 client says first; a server that speaks it answers. */
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';

const serverCa = 'TEMPORAL_TLS_SERVER_CA_CERT_PATH';
const clientCertificate = 'TEMPORAL_TLS_CLIENT_CERT_PATH';
const clientKey = 'TEMPORAL_TLS_CLIENT_KEY_PATH';

/** The address in the settings, or the default one. */
export const addressOf = ({ address }: Options): string => address ?? defaultAddress;

/**
 * Says why the server cannot be used, and what to do about it. Never quotes a key.
 * @param error what the connection, or a call on it, has failed with
 */
export async function connectionProblem(options: Options, error: unknown): Promise<string> {
  if (isRefusedKey(error)) return keyProblem(options);
  const [missing] = /Namespace \S{1,255} is not found/.exec(messageOf(error)) ?? [];
  if (missing !== undefined) return `${missing}; create it, or correct TEMPORAL_NAMESPACE`;
  const tls = tlsOptions(options);
  const problem =
    (tls === null ? undefined : fileProblem(tls)) ??
    (await handshakeProblem(options, tls).catch((cause: unknown) => networkProblem(cause, options)));
  return problem ?? messageOf(error);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** gRPC's UNAUTHENTICATED and PERMISSION_DENIED, anywhere in the chain of causes. */
function isRefusedKey(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    if (code === 7 || code === 16) return true;
    // The worker's library gives words only.
    if (/does not have permission|valid authentication credentials|Request unauthorized/.test(at.message))
      return true;
  }
  return false;
}

const keyProblem = ({ apiKey }: Options): string =>
  apiKey === undefined
    ? 'the server wants an API key; set TEMPORAL_API_KEY, or TEMPORAL_API_KEY_FILE'
    : 'the server refuses the API key of TEMPORAL_API_KEY or TEMPORAL_API_KEY_FILE: it is wrong, has expired, or does ' +
      'not allow this namespace; ask whoever runs the server for another';

function tlsOptions({ tls, apiKey }: Options): TlsOptions | null {
  if (tls === undefined || tls === null) return apiKey === undefined ? null : {};
  if (typeof tls === 'boolean') return tls ? {} : null;
  return tls;
}

/** What is wrong with the files of this side, before anything is sent. */
function fileProblem({ clientCertPair, serverRootCACertificate }: TlsOptions): string | undefined {
  if (serverRootCACertificate && readCertificate(serverRootCACertificate) === undefined)
    return `${serverCa}: the file holds no certificate in PEM; put the certificate of the server's authority there`;
  if (!clientCertPair) return undefined;
  const certificate = readCertificate(clientCertPair.crt);
  if (certificate === undefined)
    return `${clientCertificate}: the file holds no certificate in PEM; put the client's certificate there`;
  try {
    createSecureContext({ cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) });
  } catch {
    return `${clientKey}: the file holds no key in PEM that belongs to the certificate of ${clientCertificate}; set the pair that was issued together`;
  }
  if (Date.parse(certificate.validTo) < Date.now())
    return `${clientCertificate}: the client's certificate expired on ${dayOf(certificate.validTo)}; replace it and its key by new ones`;
  return undefined;
}

function readCertificate(content: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(Buffer.from(content));
  } catch {
    return undefined;
  }
}

const dayOf = (time: string): string => new Date(time).toISOString().slice(0, 10);

/** What a connection that is made by hand meets; undefined if it meets nothing. */
async function handshakeProblem(options: Options, tls: TlsOptions | null): Promise<string | undefined> {
  const { host, port } = hostAndPort(addressOf(options));
  const outcome = await attempt(() =>
    tls === null ? connectTcp({ host, port }) : secureSocket(host, port, tls),
  );
  if (outcome.code === undefined && (outcome.answer[0] === tlsAlert || (tls === null && outcome.isClosed)))
    return tls === null
      ? 'the server closed a connection without TLS; if it speaks TLS, set TEMPORAL_TLS=true, and its authority by ' +
          serverCa
      : undefined;
  return outcome.code === undefined
    ? undefined
    : (tlsProblem(outcome, host, tls) ?? networkProblem(outcome.error, options));
}

const tlsAlert = 0x15;

function secureSocket(host: string, port: number, tls: TlsOptions): TLSSocket {
  const { serverRootCACertificate: ca, clientCertPair, serverNameOverride } = tls;
  return connectTls({
    host,
    port,
    ALPNProtocols: ['h2'],
    ...(isIP(serverNameOverride ?? host) === 0 && { servername: serverNameOverride ?? host }),
    ...(ca && { ca: Buffer.from(ca) }),
    ...(clientCertPair && {
      cert: Buffer.from(clientCertPair.crt),
      key: Buffer.from(clientCertPair.key),
    }),
  });
}

interface Outcome {
  error?: Error;
  code?: string;
  /** The first bytes that came back. */
  answer: Buffer;
  isClosed: boolean;
  /** The certificate that the server has shown. */
  certificate?: { valid_to: string; subjectaltname?: string | undefined };
}

/** Connects, says what an HTTP/2 client says, and waits for what comes back. */
function attempt(open: () => Socket | TLSSocket): Promise<Outcome> {
  return new Promise((resolve) => {
    const outcome: Outcome = { answer: Buffer.alloc(0), isClosed: false };
    const socket = open();
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(outcome);
    };
    const timer = setTimeout(() => {
      Object.assign(outcome, { error: new Error('no answer'), code: 'ETIMEDOUT' });
      finish();
    }, probeMs);
    const greet = (): void => {
      socket.write(preface, 'latin1');
      setTimeout(finish, settleMs);
    };
    if ('getPeerCertificate' in socket) {
      socket.on('secureConnect', greet);
      // The certificate is there before it is judged.
      socket.on('session', () => undefined);
    } else socket.on('connect', greet);
    socket.on('data', (part: Buffer) => (outcome.answer = Buffer.concat([outcome.answer, part])));
    socket.on('close', () => {
      outcome.isClosed = true;
      finish();
    });
    socket.on('error', (error: NodeJS.ErrnoException & { cert?: Outcome['certificate'] }) => {
      outcome.error = error;
      outcome.code = error.code ?? 'unknown';
      if (error.cert !== undefined) outcome.certificate = error.cert;
      finish();
    });
  });
}

/** By the names that Node and OpenSSL have for what goes wrong. */
function tlsProblem({ code = '', error }: Outcome, host: string, tls: TlsOptions | null): string | undefined {
  const hasCertificate = Boolean(tls?.clientCertPair);
  if (code === 'CERT_HAS_EXPIRED')
    return "the server's certificate has expired; whoever runs the server has to renew it, and this process tries again by itself";
  if (code === 'CERT_NOT_YET_VALID')
    return "the server's certificate is not valid yet; compare the clocks of both machines";
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the server's certificate is not for ${tls?.serverNameOverride ?? host} (${namesOf(error)}); set TEMPORAL_TLS_SERVER_NAME to a name that it has`;
  if (/SELF_SIGNED|UNABLE_TO_|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED/.test(code))
    return tls?.serverRootCACertificate
      ? `the server's certificate is not signed by the authority in ${serverCa}; put the certificate of the server's authority there`
      : `the server's certificate is signed by no authority that this machine trusts; set ${serverCa} to the certificate of its authority`;
  if (/CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE/.test(code))
    return `the server wants a certificate of the client; set ${clientCertificate} and ${clientKey}`;
  if (
    /ALERT_(BAD|UNKNOWN|UNSUPPORTED|REVOKED|CERTIFICATE)|UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_EXPIRED/.test(
      code,
    )
  )
    return hasCertificate
      ? `the server refuses the client's certificate of ${clientCertificate}; use one that an authority it trusts has signed, and that is valid now`
      : `the server wants a certificate of the client; set ${clientCertificate} and ${clientKey}`;
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code))
    return 'the server speaks no TLS; set TEMPORAL_TLS=false, or correct the address';
  return undefined;
}

/** What Node says of a name that does not fit, cut to a safe length. */
const namesOf = (error: Error | undefined): string =>
  (/altnames: (.*)$/.exec(error?.message ?? '')?.[1] ?? 'no names').slice(0, 200);

const networkProblems: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there (connection refused); start the server, or correct TEMPORAL_ADDRESS',
  ENOTFOUND: 'there is no such host; correct TEMPORAL_ADDRESS',
  EAI_AGAIN: 'the name server does not answer; try again, or use an address in numbers',
  ETIMEDOUT: 'it does not answer; correct TEMPORAL_ADDRESS, or let a firewall pass it',
  EHOSTUNREACH: 'there is no route to it; correct TEMPORAL_ADDRESS, or the network',
};

function networkProblem(error: unknown, options: Options): string | undefined {
  const { code = '', errors } = error as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] };
  const network = networkProblems[code] ?? networkProblems[errors?.[0]?.code ?? ''];
  if (network !== undefined) return network;
  if (code !== 'ECONNRESET') return undefined;
  return tlsOptions(options) === null
    ? `the server closed a connection without TLS; if it speaks TLS, set TEMPORAL_TLS=true, and its authority by ${serverCa}`
    : 'the server closed the connection in the middle of the TLS handshake; correct the address, or try again';
}

function hostAndPort(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  if (at === -1) return { host: address, port: 7233 };
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}
