import { quantile } from './figures.ts';

/** How well the time of one kind of request can be told from that of another. */
export interface Telling {
  what: string;
  /** Medians, in milliseconds. */
  ours: number;
  base: number;
  /** What it is compared with. */
  of: string;
  /** Of the medians. */
  ratio: number;
  /** How likely one of ours takes longer; 0.5: the time tells nothing. */
  share: number;
  /** Of a difference at least as large between requests of one kind (Mann-Whitney, two-sided). */
  p: number;
  pairs: number;
}

/** Compares times in milliseconds, of which the n-th were taken right after each other. */
export function telling(what: string, ours: readonly number[], of: string, theirs: readonly number[]): Telling {
  const [mine, base] = [quantile(ours, 0.5), quantile(theirs, 0.5)];
  return { what, ours: mine, base, of, ratio: mine / base, pairs: ours.length, ...mannWhitney(ours, theirs) };
}

/** One line for people. */
export function lineOf({ what, ours, base, of, ratio, share, p, pairs }: Telling): string {
  return (
    `  ${ours.toFixed(2)} ms, ${of} ${base.toFixed(2)} ms, ratio ${ratio.toFixed(4)}, ` +
    `slower in ${(share * 100).toFixed(1)} %, p ${p.toFixed(3)}  ${what} (${pairs} pairs)`
  );
}

/** The rank test that asks nothing of how times are spread: many requests, few of them very slow. */
function mannWhitney(ours: readonly number[], theirs: readonly number[]): { share: number; p: number } {
  const all = [...ours.map((time) => ({ time, ours: 1 })), ...theirs.map((time) => ({ time, ours: 0 }))];
  all.sort((a, b) => a.time - b.time);
  const ranks = all.reduce((sum, one, index) => sum + one.ours * (index + 1), 0);
  const product = ours.length * theirs.length;
  const wins = ranks - (ours.length * (ours.length + 1)) / 2;
  const deviation = Math.sqrt((product * (ours.length + theirs.length + 1)) / 12);
  const z = Math.abs(wins - product / 2) / deviation;
  return { share: wins / product, p: 2 * upperTail(z) };
}

/** Of the normal distribution (Abramowitz and Stegun, 26.2.17; to seven digits). */
function upperTail(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const series = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const sum = series.reduce((total, factor, index) => total + factor * t ** (index + 1), 0);
  return (Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI)) * sum;
}
