import { connectTls, type WebApiHost, type WebApiLine } from './tls.ts';

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
