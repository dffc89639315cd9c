/** The exit code of a process whose output has lost its reader: that of a shell after SIGPIPE. */
export const READER_GONE = 141;

/** Whether the reader of an output has gone, as after `| head -1`. */
function isReaderGone({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
}

/**
 * Ends the process when the reader of one of its outputs has gone: for commands that only show something. Without it, a
 * handler of uncaught errors that writes to that output would run without end.
 * @param code the exit code
 */
export function endWithReader(code = 0): void {
  for (const output of [process.stdout, process.stderr])
    output.on('error', (error) => process.exit(isReaderGone(error) ? code : 1));
}

/**
 * Lets the process continue when the reader of one of its outputs has gone: for commands that write or change
 * something.
 */
export function outliveReader(): void {
  for (const output of [process.stdout, process.stderr])
    output.on('error', (error) => {
      if (!isReaderGone(error)) throw error;
    });
}
