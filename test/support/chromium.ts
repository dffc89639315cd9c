import { CHROMIUM } from '../../infra/local/chromium.ts';

/** The title of tests in a browser, which says so where they are skipped. */
export function inChromium(title: string): string {
  return CHROMIUM === undefined ? `${title} (skipped: no Chromium on this machine)` : title;
}
