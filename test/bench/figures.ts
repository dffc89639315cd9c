/** A repeated measurement: its median and quartiles. */
export interface Spread {
  median: number;
  low: number;
  high: number;
  runs: number;
}

/** One line of the table. */
export interface Figure {
  what: string;
  /** Of `ours` and `base`; a ratio has none. */
  unit: 'ms' | 'MB' | '%' | 'USD' | 'calls';
  ours: Spread;
  /** The comparison, measured alternately in the same run. */
  base?: Spread & { of: string };
  /** Ours divided by base. */
  ratio?: Spread;
  /** The maximum of `ours` or `ratio`. */
  aim?: { of: 'ours' | 'ratio'; most: number };
}

export interface Benchmark {
  name: string;
  /** The subject of the figures, the method, and its limits; one paragraph. */
  about: string;
  run(run: BenchmarkRun): Promise<Figure[]>;
}

export interface BenchmarkRun {
  /** Fewer repetitions: enough to see that it works, too few for a reliable figure. */
  quick: boolean;
  /** Requests of each kind that `privacy` compares; the usual number where absent. */
  pairs?: number;
  /** Reports progress. */
  progress(text: string): void;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

export function spread(values: readonly number[]): Spread {
  return {
    median: quantile(values, 0.5),
    low: quantile(values, 0.25),
    high: quantile(values, 0.75),
    runs: values.length,
  };
}

/** A figure without a comparison. */
export function figure(what: string, unit: Figure['unit'], values: readonly number[], aim?: Figure['aim']): Figure {
  return { what, unit, ours: spread(values), ...(aim === undefined ? {} : { aim }) };
}

/**
 * A comparison. The n-th values of both were measured right after each other: the ratio is that of such pairs, whose
 * machine was equally fast.
 */
export function comparison(
  what: string,
  unit: Figure['unit'],
  ours: readonly number[],
  of: string,
  base: readonly number[],
  aim?: Figure['aim'],
): Figure {
  const pairs = ours.map((value, index) => value / (base[index] ?? Number.NaN));
  return {
    what,
    unit,
    ours: spread(ours),
    base: { of, ...spread(base) },
    ratio: spread(pairs),
    ...(aim === undefined ? {} : { aim }),
  };
}

/** Whether an aim is met; undefined without an aim. */
export function isMet({ ours, ratio, aim }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  return (aim.of === 'ours' ? ours.median : (ratio?.median ?? Number.NaN)) <= aim.most;
}

/**
 * If its quartiles are further apart than this share of it, a ratio is unreliable: the machine was busy.
 */
const NOISY = 0.25;

export function isNoisy({ ratio }: Figure): boolean {
  return ratio !== undefined && ratio.runs > 1 && (ratio.high - ratio.low) / ratio.median > NOISY;
}

/** The figures as lines of a table. */
export function table(figures: readonly Figure[]): string[] {
  const rows = figures.map((one) => [
    one.what,
    `${inWords(one.ours)} ${one.unit}`,
    one.base === undefined ? '' : `${inWords(one.base)} ${one.unit}`,
    one.base?.of ?? '',
    one.ratio === undefined ? '' : inWords(one.ratio),
    verdict(one),
  ]);
  const all = [['', 'ours', 'base', 'which is', 'ratio', ''], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length))) ?? [];
  return all.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd());
}

function verdict(one: Figure): string {
  const met = isMet(one);
  return [met === undefined ? '' : `${met ? 'met' : 'MISSED'} (≤ ${one.aim?.most})`, isNoisy(one) ? 'noisy' : '']
    .filter(Boolean)
    .join(', ');
}

function inWords({ median, low, high, runs }: Spread): string {
  return runs < 2 || low === high ? short(median) : `${short(median)} [${short(low)}–${short(high)}]`;
}

function short(value: number): string {
  if (Number.isInteger(value)) return String(value);
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
