import { connect, type Socket } from 'node:net';
import { PlatformFailure } from '../platform.ts';

/** What came back for one command: whole lines only, so that a number cut in the middle is never read. */
export interface Answer {
  lines: string[];
  /** The closing `end` was seen. */
  ended: boolean;
  /** The connection was ended. */
  closed: boolean;
}

/** More is no answer of these protocols. */
const MAX_ANSWER_BYTES = 8_192;
const FIRST_LINES = ['OK', 'ERROR', 'Disable'];
/** How long `end` is waited for when everything else is there, in milliseconds: some servers leave it out. */
const END_MS = 200;

/** @throws PlatformFailure `platform_unavailable`: nothing was sent */
export async function dial(
  host: string,
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<TextConnection> {
  const socket = connect({ host, port, noDelay: true });
  const connection = new TextConnection(socket);
  await connected(socket, timeoutMs, signal);
  return connection;
}

/** A connection that carries one command. */
export class TextConnection {
  readonly #socket: Socket;
  #received = '';
  #closed = false;
  #onChange = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    const onEnd = () => {
      this.#closed = true;
      this.#onChange();
    };
    socket.on('end', onEnd).on('close', onEnd);
    // Once the connection stands, an error ends it: `close` follows.
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      this.#received += bytes.toString('latin1');
      this.#onChange();
    });
  }

  /** The server has ended it. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Writes the command at once and reads until `end`, the connection's end, the time limit or the signal; never fails.
   * Without a whole answer the connection is reset, so that nothing of the command is sent from then on.
   */
  exchange(command: Buffer, timeoutMs: number, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        this.#onChange = () => {};
        resolve({ ...read(this.#received), closed: this.#closed });
        this.#leave();
      };
      let timer = setTimeout(finish, timeoutMs);
      signal.addEventListener('abort', finish);
      this.#onChange = () => {
        const state = progress(this.#received);
        if (this.#closed || this.#received.length > MAX_ANSWER_BYTES || state === 'over') return finish();
        if (state !== 'decided') return;
        clearTimeout(timer);
        timer = setTimeout(finish, END_MS);
      };
      this.#socket.write(command);
      if (this.#closed || signal.aborted) finish();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /**
   * After an orderly end the kernel would go on for minutes sending what the network had swallowed, and the server might
   * open an account when the order was settled long ago.
   */
  #leave(): void {
    if (read(this.#received).ended || progress(this.#received) === 'decided') this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }
}

function connected(socket: Socket, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (reason?: string, cause?: unknown) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.off('connect', onConnect).off('error', onError);
      if (reason === undefined) return resolve();
      socket.destroy();
      reject(new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause }));
    };
    const onAbort = () => finish('connect_aborted');
    const onConnect = () => finish();
    const onError = (error: NodeJS.ErrnoException) => finish(`connect_${error.code ?? 'failed'}`, error);
    const timer = setTimeout(() => finish('connect_timeout'), timeoutMs);
    signal.addEventListener('abort', onAbort);
    socket.on('connect', onConnect).on('error', onError);
    if (signal.aborted) onAbort();
  });
}

/** Lines end with CRLF, and a bare LF will do; only `end` may stand there without. */
function read(received: string): Pick<Answer, 'lines' | 'ended'> {
  const all = received.split('\n').map((line) => line.trim());
  const rest = all.pop();
  const end = all.indexOf('end');
  const lines = (end === -1 ? all : all.slice(0, end)).filter((line) => line !== '');
  return { lines, ended: end !== -1 || rest === 'end' };
}

/** `decided`: nothing that may yet come but `end` matters. `over`: `end` is there too, or this is no answer at all. */
function progress(received: string): 'open' | 'decided' | 'over' {
  const { lines, ended } = read(received);
  const [first] = lines;
  if (ended || (first !== undefined && !FIRST_LINES.includes(first))) return 'over';
  return lines.some((line) => line.startsWith('LOGIN=')) || (first === 'ERROR' && lines.length > 1)
    ? 'decided'
    : 'open';
}
