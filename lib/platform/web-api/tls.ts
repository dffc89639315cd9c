import { isIP, Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { WebApiConnection } from '../../records/crm-records.ts';
import { PlatformFailure } from '../platform.ts';

/** Where a server is and what proves that it is the right one. */
export type WebApiHost = Pick<WebApiConnection, 'host' | 'port' | 'ca' | 'fingerprint'>;

/** System errors end like this; the other codes are of TLS and of certificates. */
const SYSTEM_ERROR = /^E(?!RR_|PROTO$)[A-Z_]+$/;

/** A connection to a server that is the right one. Ending `tls` ends `tcp`. */
export interface WebApiLine {
  tls: TLSSocket;
  tcp: TcpSocket;
}

/**
 * Is reset by whatever ends it while a command waits for its answer, Node's own TLS and HTTP among them. After an orderly
 * end the kernel would go on for minutes sending what the network had swallowed, and the server might open an account
 * when the order was settled long ago; a reset has it forget those bytes.
 */
class TcpSocket extends Socket {
  awaitingAnswer = false;

  override destroy(error?: Error): this {
    if (!this.awaitingAnswer) return super.destroy(error);
    this.awaitingAnswer = false;
    // It comes back here.
    return this.resetAndDestroy();
  }
}

/**
 * Connects and makes sure of the server's certificate before a byte of ours leaves: by the public authorities, by `ca`
 * (both with the host name), or by `fingerprint`, which trusts that one certificate whatever its issuer and name. With
 * `ca` and `fingerprint` both must hold.
 * @throws PlatformFailure `platform_unavailable` when the server cannot be reached, `platform_refused` when it cannot be trusted
 */
export function connectTls(server: WebApiHost, timeoutMs: number, signal: AbortSignal): Promise<WebApiLine> {
  const { host, port, ca } = server;
  const pin = server.fingerprint?.replaceAll(':', '').toUpperCase();
  return new Promise((resolve, reject) => {
    let secureContext: SecureContext;
    try {
      // The server's own certificate is one to trust too, whoever issued it.
      secureContext = createSecureContext(ca === undefined ? {} : { ca, allowPartialTrustChain: true });
    } catch (error) {
      // The PEM of `ca` cannot be read.
      reject(new PlatformFailure('platform_refused', { reason: 'tls_ca_malformed', cause: error }));
      return;
    }
    const tcp = new TcpSocket();
    let tls: TLSSocket | undefined;
    const finish = (outcome: WebApiLine | PlatformFailure) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onTimeout);
      tcp.off('connect', onConnect).off('close', onClose);
      tls?.off('secureConnect', onSecureConnect);
      if (!(outcome instanceof PlatformFailure)) return resolve(outcome);
      tls?.destroy();
      tcp.destroy();
      reject(outcome);
    };
    // Stays for the life of the sockets: an error of an idle session is no more than its end.
    const onError = (error: NodeJS.ErrnoException) => finish(connectFailure(error));
    const onConnect = () => {
      // Commands are small, and each waits for its answer.
      tcp.setNoDelay(true);
      tls = connect({
        socket: tcp,
        host,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        secureContext,
        // The pin takes the place of the authority; it is compared below.
        rejectUnauthorized: pin === undefined || ca !== undefined,
      });
      tls.on('secureConnect', onSecureConnect).on('error', onError);
    };
    const onSecureConnect = () => {
      if (tls === undefined) return;
      const matches = pin === undefined || tls.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '') === pin;
      finish(matches ? { tls, tcp } : new PlatformFailure('platform_refused', { reason: 'tls_fingerprint_mismatch' }));
    };
    const onTimeout = () => finish(unreachable('connect_timeout'));
    const onClose = () => finish(unreachable('connect_closed'));
    const timer = setTimeout(onTimeout, timeoutMs);
    signal.addEventListener('abort', onTimeout);
    tcp.on('connect', onConnect).on('close', onClose).on('error', onError);
    if (signal.aborted) onTimeout();
    else tcp.connect({ host, port });
  });
}

function connectFailure(error: NodeJS.ErrnoException): PlatformFailure {
  const code = error.code ?? 'failed';
  if (SYSTEM_ERROR.test(code)) return unreachable(`connect_${code.toLowerCase()}`, error);
  return new PlatformFailure('platform_refused', { reason: `tls_${code.toLowerCase()}`, cause: error });
}

function unreachable(reason: string, cause?: unknown): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause });
}
