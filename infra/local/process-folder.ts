import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders = new Set<string>();
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/**
 * A temporary folder that is deleted on `close`, at the latest when the process exits. A signal that no handler turns
 * into an exit leaves the folder: see `exitOnSignals`.
 * @param name the first part of its name
 */
export function processFolder(name: string): { folder: string; close(): void } {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  folders.add(folder);
  return {
    folder,
    close() {
      folders.delete(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The part of a process that a signal ends. */
export type SignaledProcess = Pick<NodeJS.Process, 'exit'> & {
  on(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', end: () => void): unknown;
};

/** Exits at once on a signal that ends a process. @param code the exit code */
export function exitOnSignals(process: SignaledProcess, code: number): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(code));
}
