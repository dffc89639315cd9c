import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { endWithReader, READER_GONE } from '../../infra/closed-output.ts';

const { values } = parseArgs({ options: { runs: { type: 'string' } } });

/** How often something is measured. @param usual without the option `--runs` */
export function runs(usual: number): number {
  return values.runs === undefined ? usual : Number(values.runs);
}

/** Prints what a benchmark measures and on which machine. */
export function announce(title: string, about: string): void {
  endWithReader(READER_GONE);
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim()}, load ${loadavg()[0]?.toFixed(1)}`;
  const lines = about.replace(/(.{1,110})(?:\s+|$)/g, '  $1\n');
  process.stdout.write(`\n${title}\n${lines}  Node ${process.version}, ${machine}\n\n`);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const [below = Number.NaN, above = below] = sorted.slice(Math.floor(place));
  return below + (above - below) * (place % 1);
}

/** If its quartiles are further apart than this share of it, a ratio is unreliable: the machine was busy. */
const NOISY = 0.25;

/**
 * Prints a line: the medians of both, and the ratio with its quartiles. The n-th values of both were measured right
 * after each other: the ratio is that of such pairs, whose machine was equally fast.
 * @param unit of the values @param most the aim: the largest ratio
 */
export function compare(
  what: string,
  unit: 'ms' | 'MB',
  ours: readonly number[],
  base: readonly number[],
  most?: number,
): void {
  const ratios = ours.map((value, index) => value / (base[index] ?? Number.NaN));
  const [low, ratio, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share)) as [number, number, number];
  const medians = [ours, base].map((one) => `${Number(quantile(one, 0.5).toPrecision(3))} ${unit}`.padStart(11));
  const verdict = most === undefined ? '' : `${ratio <= most ? 'met' : 'MISSED'} (≤ ${most})`;
  const noise = (high - low) / ratio > NOISY ? 'noisy: measure again' : '';
  const cells = [
    what.padEnd(44),
    ...medians,
    ratio.toFixed(2),
    `[${low.toFixed(2)}–${high.toFixed(2)}]`,
    verdict,
    noise,
  ];
  process.stdout.write(`  ${cells.join('  ').trimEnd()}\n`);
}
