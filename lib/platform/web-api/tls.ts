import { isIP, Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { WebApiConnection } from '../../records/crm-records.ts';
import { PlatformFailure } from '../platform.ts';

/** The address of a server, and the proof of its identity. */
export type WebApiHost = Pick<WebApiConnection, 'host' | 'port' | 'ca' | 'fingerprint'>;

/** System error codes. Other codes are of TLS and certificates. */
const SYSTEM_ERROR = /^E(?!RR_|PROTO$)[A-Z_]+$/;

/** An authenticated connection. Closing `tls` closes `tcp`. */
export interface WebApiLine {
  tls: TLSSocket;
  tcp: TcpSocket;
}

/**
 * A socket that is reset if it is closed while a command waits for its answer, also by Node's TLS or HTTP. After an
 * orderly close the kernel would retransmit lost bytes for minutes, and the server might open an account after the
 * order was decided. A reset discards those bytes.
 */
class TcpSocket extends Socket {
  awaitingAnswer = false;

  override destroy(error?: Error): this {
    if (!this.awaitingAnswer) return super.destroy(error);
    this.awaitingAnswer = false;
    // This calls `destroy` again.
    return this.resetAndDestroy();
  }
}

/**
 * Connects and verifies the server's certificate before any data is sent: by the public authorities or `ca`, both with
 * the host name, or by `fingerprint`, for any issuer and name. With `ca` and `fingerprint`, both must match.
 * @throws PlatformFailure `platform_unavailable` if the server is unreachable, `platform_refused` if it is not trusted
 */
export function connectTls(server: WebApiHost, timeoutMs: number, signal: AbortSignal): Promise<WebApiLine> {
  const { host, port, ca } = server;
  const pin = server.fingerprint?.replaceAll(':', '').toUpperCase();
  return new Promise((resolve, reject) => {
    let secureContext: SecureContext;
    try {
      // The server's own certificate may be trusted too.
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
    // Stays for the life of the sockets: an error of an idle session only ends it.
    const onError = (error: NodeJS.ErrnoException) => finish(connectFailure(error));
    const onConnect = () => {
      // Commands are small, and each is followed by a wait.
      tcp.setNoDelay(true);
      tls = connect({
        socket: tcp,
        host,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        secureContext,
        // The pin, compared below, replaces the authority.
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

/** A connection that is opened before the credentials are known. Nothing is sent on it until it is taken. */
export interface EarlyLine {
  /**
   * The connection, which the caller must close; undefined if it has ended. @throws PlatformFailure if connecting
   * failed
   */
  take(): Promise<WebApiLine | undefined>;
  /** Closes it; it is not needed. */
  drop(): void;
}

/** @param signal closes the connection until it is taken */
export function connectEarly(server: WebApiHost, timeoutMs: number, signal: AbortSignal): EarlyLine {
  const connecting = connectTls(server, timeoutMs, signal);
  const drop = () => {
    connecting.then(
      ({ tls }) => tls.destroy(),
      () => {},
    );
  };
  // `take` reports the error.
  connecting.catch(() => {});
  signal.addEventListener('abort', drop, { once: true });
  return {
    async take() {
      signal.removeEventListener('abort', drop);
      if (signal.aborted) return undefined;
      const line = await connecting;
      return line.tls.writable ? line : undefined;
    },
    drop,
  };
}
