import { connectTls, type WebApiHost, type WebApiLine } from './tls.ts';

/** A connection to a server that is made before anybody knows how to log in there. Nothing is sent on it until it is taken. */
export interface EarlyLine {
  /** The connection, whose end is the taker's from then on; undefined where it is gone. @throws PlatformFailure where it could not be made */
  take(): Promise<WebApiLine | undefined>;
  /** Nobody is going to take it. */
  drop(): void;
}

/** @param signal ends the connection as long as nobody has taken it */
export function connectEarly(server: WebApiHost, timeoutMs: number, signal: AbortSignal): EarlyLine {
  const connecting = connectTls(server, timeoutMs, signal);
  const drop = () => {
    connecting.then(
      ({ tls }) => tls.destroy(),
      () => {},
    );
  };
  // Whoever takes it hears why it could not be made.
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
