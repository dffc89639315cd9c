import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** A new empty folder, which is deleted at the end of the run. @param name the first part of its name */
export function temporaryFolder(name: string): string {
  return mkdtempSync(join(inject('folders'), `${name}-`));
}
