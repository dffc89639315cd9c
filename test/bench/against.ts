import { readFile } from 'node:fs/promises';
import type { Figure } from './figures.ts';

/** The figures of one run, as `--json` prints them. */
export interface Report {
  machine: string;
  quick: boolean;
  results: { name: string; about: string; figures: Figure[] }[];
}

/** Lines that hold each figure against the same one of an earlier run; ratios are what carries over to another machine. */
export async function against(file: string, now: Report): Promise<string[]> {
  const then = JSON.parse(await readFile(file, 'utf8')) as Report;
  const lines = [`against ${file}: ${then.machine}`, ''];
  for (const { name, figures } of now.results) {
    const earlier = then.results.find((one) => one.name === name)?.figures ?? [];
    for (const figure of figures) {
      const before = earlier.find(({ what, base }) => what === figure.what && base?.of === figure.base?.of);
      lines.push(`  ${name}: ${figure.what}${figure.base === undefined ? '' : ` beside ${figure.base.of}`}`);
      lines.push(`    ${before === undefined ? 'is new' : change(before, figure)}`);
    }
  }
  return lines;
}

function change(before: Figure, now: Figure): string {
  if (before.skipped !== undefined || now.skipped !== undefined) return 'was skipped in one of the runs';
  const value = ({ ours, ratio }: Figure) => (ratio ?? ours).median;
  const unit = now.ratio === undefined ? ` ${now.unit}` : ' ×';
  const [then, here] = [value(before), value(now)];
  const percent = then === 0 ? '' : ` (${here >= then ? '+' : ''}${(((here - then) / then) * 100).toFixed(1)} %)`;
  return `${then.toPrecision(3)} → ${here.toPrecision(3)}${unit}${percent}`;
}
