import { isIP } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { WebApiConnection } from '../validators/crm-records.ts';
import { PlatformFailure } from './platform.ts';

/** Where a server is and what proves that it is the right one. */
export type WebApiHost = Pick<WebApiConnection, 'host' | 'port' | 'ca' | 'fingerprint'>;

/** System errors end like this; the other codes are of TLS and of certificates. */
const SYSTEM_ERROR = /^E(?!RR_|PROTO$)[A-Z_]+$/;

/**
 * Connects and makes sure of the server's certificate before a byte of ours leaves: by the public authorities, by `ca`
 * (both with the host name), or by `fingerprint`, which trusts that one certificate whatever its issuer and name. With
 * `ca` and `fingerprint` both must hold.
 * @throws PlatformFailure `platform_unavailable` when the server cannot be reached, `platform_refused` when it cannot be trusted
 */
export function connectTls(server: WebApiHost, timeoutMs: number, signal: AbortSignal): Promise<TLSSocket> {
  const { host, port, ca } = server;
  const pin = server.fingerprint?.replaceAll(':', '').toUpperCase();
  const options: ConnectionOptions = {
    host,
    port,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    // The server's own certificate is one to trust too, whoever issued it.
    ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
    // The pin takes the place of the authority; it is compared below.
    rejectUnauthorized: pin === undefined || ca !== undefined,
  };
  return new Promise((resolve, reject) => {
    let socket: TLSSocket;
    try {
      socket = connect(options);
    } catch (error) {
      // The PEM of `ca` cannot be read.
      reject(new PlatformFailure('platform_refused', { reason: 'tls_ca_malformed', cause: error }));
      return;
    }
    const settle = (failure?: PlatformFailure) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onTimeout);
      socket.off('secureConnect', onConnect).off('close', onClose);
      if (failure === undefined) return resolve(socket);
      socket.destroy();
      reject(failure);
    };
    const onConnect = () => {
      const matches = pin === undefined || socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '') === pin;
      // Commands are small, and each waits for its answer.
      socket.setNoDelay(true);
      settle(matches ? undefined : new PlatformFailure('platform_refused', { reason: 'tls_fingerprint_mismatch' }));
    };
    const onTimeout = () => settle(unreachable('connect_timeout'));
    const onClose = () => settle(unreachable('connect_closed'));
    const timer = setTimeout(onTimeout, timeoutMs);
    signal.addEventListener('abort', onTimeout);
    socket.on('secureConnect', onConnect).on('close', onClose);
    // Stays for the life of the socket: an error of an idle session is no more than its end.
    socket.on('error', (error: NodeJS.ErrnoException) => settle(toFailure(error)));
    if (signal.aborted) onTimeout();
  });
}

function toFailure(error: NodeJS.ErrnoException): PlatformFailure {
  const code = error.code ?? 'failed';
  if (SYSTEM_ERROR.test(code)) return unreachable(`connect_${code.toLowerCase()}`, error);
  return new PlatformFailure('platform_refused', { reason: `tls_${code.toLowerCase()}`, cause: error });
}

function unreachable(reason: string, cause?: unknown): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause });
}
