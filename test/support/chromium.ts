import { CHROMIUM } from '../../infra/local/chromium.ts';

/** The title of tests in a browser. Where there is none, they are skipped, and it is said here that they are and why. */
export function inChromium(title: string): string {
  if (CHROMIUM === undefined) process.stderr.write(`Skipped: ${title} (no Chromium on this machine)\n`);
  return title;
}
