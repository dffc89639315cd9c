import { connect, type Socket } from 'node:net';
import { PlatformFailure } from '../platform.ts';

/** The answer to one command: complete lines only, so a truncated number is never read. */
export interface ServerReply {
  /** The lines of the answer. In a valid answer the first one is `OK`, `ERROR` or `DISABLE`. */
  lines: string[];
  /** The closing `end` was seen. */
  ended: boolean;
  /** The connection is closed. */
  closed: boolean;
}

/** No valid answer is longer than this. */
const MAX_ANSWER_BYTES = 8_192;
/** The wait for `end` after a complete answer, in milliseconds: some servers omit it. */
const END_MS = 200;

/** @throws PlatformFailure `platform_unavailable`: nothing was sent */
export async function openTextSession(
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

/** A connection for one command. */
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
    // After the connect, `close` follows every error.
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      this.#received += bytes.toString('latin1');
      this.#onChange();
    });
  }

  /** Whether the server has closed the connection. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Writes the command at once and reads until `end`, the connection's end, the time limit or the signal; never fails.
   * Without a whole answer the connection is reset, so that no more bytes of the command are sent.
   */
  exchange(command: Buffer, timeoutMs: number, signal: AbortSignal): Promise<ServerReply> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        this.#onChange = () => {};
        const { lines, ended } = read(this.#received);
        resolve({ lines, ended, closed: this.#closed });
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
   * After an orderly close the kernel would retransmit lost bytes for minutes, and the server might open an account
   * after the order was decided.
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
      reject(new PlatformFailure('platform_unavailable', { reason, proof: 'unsent', retryAfterSeconds: 10, cause }));
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

/** The first line of an answer; some servers have the rest on the same line. */
const STATUS = /^(ok|error|disable)(?:\.|[:\s]+(.+))?$/i;
const LOGIN = /^login\s*=/i;

/**
 * Reads the complete lines from the status on, and writes the status in capitals. Lines end with CRLF or LF; only `end`
 * may lack it. A byte order mark and one line before the status, a banner, are left out.
 */
function read(received: string): Pick<ServerReply, 'lines' | 'ended'> & { status: number } {
  const receivedLines = received
    .replace(BYTE_ORDER_MARK, '')
    .split('\n')
    .map((line) => line.trim());
  const unended = receivedLines.pop() ?? '';
  const end = receivedLines.findIndex(isEnd);
  const lines = (end === -1 ? receivedLines : receivedLines.slice(0, end)).filter((line) => line !== '');
  const ended = end !== -1 || isEnd(unended);
  const status = lines.slice(0, 2).findIndex((line) => STATUS.test(line));
  if (status === -1) return { lines, ended, status };
  const [, first = '', more = ''] = STATUS.exec(lines[status] ?? '') ?? [];
  return { lines: [first.toUpperCase(), more, ...lines.slice(status + 1)].filter(Boolean), ended, status };
}

/** The mark in UTF-8, read with a character for each byte. */
const BYTE_ORDER_MARK = /^\xef\xbb\xbf/;

function isEnd(line: string): boolean {
  return line.toLowerCase() === 'end';
}

/** `decided`: only `end` is missing. `over`: complete, or not a valid answer. */
function progress(received: string): 'open' | 'decided' | 'over' {
  const { lines, ended, status } = read(received);
  if (ended || (status === -1 && lines.length > 1)) return 'over';
  if (status === -1) return 'open';
  return lines.some((line) => LOGIN.test(line)) || (lines[0] === 'ERROR' && lines.length > 1) ? 'decided' : 'open';
}
